"""Comparisons of `kymo fleet` over time, of ranks that were recorded at different times: the same with a server and with a
folder."""
import json
import pathlib
import re
import time

from clickhouse import kymo, write_trace

SAMPLES = 12  # in each of two weeks
WEEK = 7 * 86_400


class SameComparisons:
    """For a TestCase with a `folder` for files, and a new and empty database at `url`."""

    def push_weeks(self, ranks, slower=1.0, slow_rank=3, has_steps=lambda week, sample: True, names=1,
                   slower_gemm=1.0):
        """`ranks(week, sample)` are recorded together. Rank `slow_rank` is always twice as slow as the others. Everything is
        `slower` in the second week, and the kernel by `slower_gemm`."""
        now = int(time.time())
        files = []
        for week in range(2):
            for sample in range(SAMPLES):
                began = now - (2 - week) * WEEK + 3600 + sample * 12 * 3600
                for rank in ranks(week, sample):
                    files.append(write_trace(
                        self.folder / f"{self.id().rsplit('.', 1)[-1]}-{week}-{sample}-{rank}.json", at_us=began * 1_000_000,
                        names=names, steps=2, rank=rank, scale=(2 if rank == slow_rank else 1) * (slower if week else 1) *
                        (1 + sample * 5 % 12 / 1000)))
                    trace = json.loads(pathlib.Path(files[-1]).read_text())
                    if not has_steps(week, sample):
                        trace["traceEvents"] = [one for one in trace["traceEvents"] if one["cat"] != "user_annotation"]
                    for event in trace["traceEvents"]:
                        if event["name"] == "gemm" and week:
                            event["dur"] *= slower_gemm
                        if event["cat"] == "cpu_op":  # times that never change are no test, and do not count in q
                            event["dur"] += sample * 5 % 12 / 1000
                    pathlib.Path(files[-1]).write_text(json.dumps(trace))
        kymo("push", *files, self.url, "--job", "train", "-q")

    def compare(self, question, *more, expect=0):
        since = ["--since", "7d"] if question == "diff" else ["--since", "15d"]
        text, errors = kymo("fleet", question, "--db", self.url, "--job", "train", *since, "--json", *more, expect=expect)
        answer = json.loads(text)
        self.assertEqual(["kymo: " + note for note in answer["notes"]], errors.splitlines())
        # Of times without a change, the smallest one that would have been found is said.
        return answer, re.sub(r"kymo: a change by .* would have been found\n", "", errors)

    def assert_no_change(self):
        diff, said = self.compare("diff", "--fail-above", "1%")
        self.assertEqual({row["change"] for row in [diff["iteration"], *diff["rows"]]}, {"same"})
        for more in [[], ["--operation", "gemm"]]:
            history, said_by_history = self.compare("history", "--fail-above", "1%", *more)
            self.assertEqual(history["rows"], [])
        return diff, said, said_by_history

    def assert_slower(self, factor):
        diff, said = self.compare("diff", "--fail-above", "1%", expect=1)
        rows = {row["path"]: row for row in [diff["iteration"], *diff["rows"]]}
        for path in ["(iteration)", "gemm"]:
            self.assertEqual(rows[path]["change"], "slower")
            self.assertAlmostEqual(rows[path]["median_b_ns"] / rows[path]["median_a_ns"], factor, delta=0.02)
        for more in [[], ["--operation", "gemm"]]:
            [row] = self.compare("history", "--fail-above", "1%", *more, expect=1)[0]["rows"]
            self.assertAlmostEqual(row["after_ns"] / row["before_ns"], factor, delta=0.03)
        return diff, said

    def test_ranks_that_are_not_recorded_any_more_are_not_a_change(self):
        self.push_weeks(lambda week, sample: [3] if week else range(4))
        diff, said, said_by_history = self.assert_no_change()
        self.assertEqual((diff["a"], diff["b"]), (SAMPLES, SAMPLES))
        self.assertAlmostEqual(diff["iteration"]["median_b_ns"], 2 * 9e6, delta=2e5)
        self.assertEqual(said, "kymo: not compared: ranks 0-2, recorded only in A\n")
        self.assertEqual(said_by_history, "kymo: not counted: ranks 0-2, not recorded throughout this time\n")

    def test_a_job_that_grew_is_compared_by_its_first_ranks(self):
        self.push_weeks(lambda week, sample: range(4) if week else range(2))
        _, said, _ = self.assert_no_change()
        self.assertIn("not compared: ranks 2-3, recorded only in B", said)

    def test_a_job_that_grew_and_became_slower_is_slower_by_its_first_ranks(self):
        self.push_weeks(lambda week, sample: range(4) if week else range(2), slower=1.3)
        self.assert_slower(1.3)

    def test_a_change_is_found_although_other_ranks_are_recorded(self):
        self.push_weeks(lambda week, sample: [3] if week else range(4), slower=1.3)
        self.assert_slower(1.3)

    def test_the_samples_and_their_median_are_in_the_json_of_history(self):
        self.push_weeks(lambda week, sample: range(2), slower=2)
        answer, _ = self.compare("history")
        self.assertEqual(len(answer["samples"]), 2 * SAMPLES)
        for i, sample in enumerate(answer["samples"]):
            self.assertAlmostEqual(sample["ns"], 9e6 * (1 if i < SAMPLES else 2), delta=3e5)
            self.assertRegex(sample["trace"], "^0x[0-9a-f]{16}$")
            self.assertEqual(sample["time"] % 60, 0)
        self.assertEqual(answer["samples"][SAMPLES]["time"], answer["rows"][0]["time"])
        values = sorted(sample["ns"] for sample in answer["samples"])
        self.assertAlmostEqual(answer["median_ns"], (values[SAMPLES - 1] + values[SAMPLES]) / 2)

    def test_an_error_is_json_too(self):
        self.push_weeks(lambda week, sample: [0] if sample < 2 else [])
        kymo("push", write_trace(self.folder / "other-job.json", at_us=int(time.time() * 1e6) - 60_000_000, names=1, steps=2),
             self.url, "--job", "other")
        text, errors = kymo("fleet", "history", "--db", self.url, "--since", "30d", "--json", expect=2)
        self.assertEqual(json.loads(text), {"error": errors.removeprefix("kymo: ").strip(), "exit_code": 2})

    def test_traces_without_a_rank_are_compared_with_each_other(self):
        self.push_weeks(lambda week, sample: [None], slower=1.3, slow_rank=None)
        self.assertNotIn("not compared", self.assert_slower(2.6 / 2)[1])

    def test_a_fleet_of_which_each_minute_has_other_ranks(self):
        # The slow rank is in one of three samples of the first week, and in two of three of the second.
        self.push_weeks(lambda week, sample: [3] if (sample % 3 == 0) != bool(week) else [0])
        diff, said, _ = self.assert_no_change()
        self.assertEqual((diff["a"], diff["b"]), (4, 4))
        self.assertEqual(said, "")

    def test_a_rank_that_is_recorded_rarely_does_not_take_the_samples_of_the_others(self):
        self.push_weeks(lambda week, sample: range(4) if sample % 12 in (5, 6) else range(3), slower=1.3)
        diff, said = self.assert_slower(1.3)
        self.assertEqual((diff["a"], diff["b"]), (SAMPLES, SAMPLES))
        self.assertIn("not compared: rank 3, recorded too rarely in A or in B", said)

    def test_traces_without_iterations_are_not_compared_with_iterations(self):
        self.push_weeks(lambda week, sample: [0], has_steps=lambda week, sample: not week)
        note = "not compared: 12 traces without iterations, because 12 others have some"
        diff, said = self.compare("diff", "--fail-above", "1%", expect=3)
        self.assertEqual((diff["a"], diff["b"]), (0, 0))
        self.assertIn(note, said)
        self.assertIn("nothing to compare: A has 12 samples (from ", said)
        for more in [[], ["--operation", "gemm"]]:
            history, said = self.compare("history", "--fail-above", "1%", *more)
            self.assertEqual((history["rows"], len(history["samples"])), ([], SAMPLES))
            self.assertIn(note, said)

    def test_some_traces_without_iterations_do_not_count(self):
        self.push_weeks(lambda week, sample: [0], slower=1.3, has_steps=lambda week, sample: sample != 5)
        diff, said = self.assert_slower(1.3)
        self.assertEqual((diff["a"], diff["b"]), (SAMPLES - 1, SAMPLES - 1))
        self.assertIn("not compared: 2 traces without iterations, because 22 others have some", said)

    def test_traces_without_iterations_are_compared_with_each_other(self):
        self.push_weeks(lambda week, sample: [0], slower=1.3, has_steps=lambda week, sample: False)
        for question in ["diff", "history"]:
            answer, said = self.compare(question)
            self.assertEqual(said, "")
        self.assertEqual(len(answer["samples"]), 2 * SAMPLES)

    def push_uneven_ranks(self, slower):
        """Rank 0 is in most minutes of the first half, and rank 3, which is twice as slow, in most of the second."""
        now = int(time.time())
        files = []
        for minute in range(8 * SAMPLES):
            is_late = minute >= 4 * SAMPLES
            rank = 3 if (minute % 12 != 0) == is_late else 0
            files.append(write_trace(
                self.folder / f"{self.id().rsplit('.', 1)[-1]}-{minute}.json", names=1, steps=2, rank=rank,
                at_us=(now - 2 * WEEK + 3600 + minute * 12_600) * 1_000_000,
                scale=(2 if rank == 3 else 1) * (slower if is_late else 1) * (1 + minute * 5 % 12 / 1000)))
        kymo("push", *files, self.url, "--job", "train", "-q")

    def test_history_finds_a_change_although_ranks_were_recorded_unevenly(self):
        self.push_uneven_ranks(1.2)
        for more in [[], ["--operation", "gemm"]]:
            [row] = self.compare("history", "--fail-above", "1%", *more, expect=1)[0]["rows"]
            self.assertAlmostEqual(row["after_ns"] / row["before_ns"], 1.2, delta=0.03)
            # A limit is a share of the iteration, of which the kernel is a ninth.
            self.compare("history", "--fail-above", "5%", *more, expect=0 if more else 1)
            self.assertAlmostEqual(row["of_iteration"], 0.2 / (9 if more else 1), delta=0.05)

    def test_history_finds_no_change_if_ranks_were_recorded_unevenly(self):
        self.push_uneven_ranks(1.0)
        for more in [[], ["--operation", "gemm"]]:
            answer, said = self.compare("history", "--fail-above", "1%", *more)
            self.assertEqual((answer["rows"], said), ([], ""))
        # At most twice as many of a half as of the other one: 4 and 8 of each rank.
        self.assertEqual(len(answer["samples"]), 24)

    def test_diff_has_as_many_samples_as_the_rank_with_the_fewest_minutes(self):
        self.push_uneven_ranks(1.2)
        diff, _ = self.assert_diff_is_slower()
        self.assertEqual((diff["a"], diff["b"]), (4, 4))

    def test_few_samples_are_enough_for_the_iteration(self):
        self.push_weeks(lambda week, sample: [0] if sample < 4 else [], slower=1.5, names=50)
        diff, _ = self.assert_diff_is_slower()
        self.assertEqual((diff["a"], diff["b"]), (4, 4))
        self.assertAlmostEqual(diff["iteration"]["q"], 2 / 70)

    def assert_diff_is_slower(self):
        diff, said = self.compare("diff", "--fail-above", "5%", expect=1)
        self.assertEqual(diff["iteration"]["change"], "slower")
        return diff, said

    def test_too_few_samples_for_so_many_operations_are_not_the_same(self):
        self.push_weeks(lambda week, sample: [0] if sample < 5 else [], slower_gemm=2, names=50)
        # Without a limit the exit code is about the iteration, which is decided.
        for limit, code, is_said in [(["--fail-above", "5%"], 3, True), ([], 0, True), (["--fail-above", "50%"], 0, False)]:
            diff, said = self.compare("diff", *limit, expect=code)
            self.assertEqual(diff["iteration"]["change"], "same")
            rows = {row["path"]: row["change"] for row in diff["rows"]}
            self.assertEqual((rows.pop("gemm"), set(rows.values())), ("?", {"same"}))
            self.assertEqual(said, "" if not is_said else
                             "kymo: too few samples: 5 in A and 5 in B cannot show whether 1 operation changed, because 52 are "
                             "compared; 7 in each can; use another --since, or push more traces\n")

    def test_enough_samples_for_so_many_operations(self):
        self.push_weeks(lambda week, sample: [0] if sample < 7 else [], slower_gemm=2, names=50)
        diff, said = self.compare("diff", "--fail-above", "5%", expect=1)
        self.assertEqual(([row["path"] for row in diff["rows"] if row["change"] != "same"], said), (["gemm"], ""))

    def test_different_ranks_in_both_times_are_not_compared(self):
        self.push_weeks(lambda week, sample: [3] if week else [0, 1, 2, None])
        diff, said = self.compare("diff", "--fail-above", "1%", expect=3)
        self.assertEqual(diff["rows"], [])
        self.assertIn("not compared: ranks 0-2 and traces without a rank, recorded only in A", said)
        self.assertIn("nothing to compare: no rank was recorded in both times", said)
        for more in [[], ["--operation", "gemm"]]:
            history, said = self.compare("history", "--fail-above", "1%", *more, expect=3)
            self.assertEqual(history["rows"], [])
            self.assertIn("no rank was recorded throughout this time, so its times cannot be compared", said)
