"""Answers of `kymo fleet` that must be the same from a server and from a folder."""
import json
import time

from clickhouse import kymo, write_runs, write_trace


class SameAnswers:
    """For a TestCase with a `folder` for files, and a new and empty database at `url`. make_old() makes this database one of
    version 1, which had no calls of collectives."""

    def test_ranks_of_different_jobs_are_different(self):
        now = int(time.time() * 1e6)
        for job in ["a", "b"]:
            files = [write_trace(self.folder / f"job-{job}{rank}.json", at_us=now - 60_000_000, rank=rank, steps=3,
                                 names=2 if job == "a" else 3, slow_collective=rank == 1) for rank in range(2)]
            kymo("push", *files, self.url, "--job", job)
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--json")
        rows = json.loads(text)["rows"]
        self.assertEqual([(row["job"], row["rank"], row["times_last"]) for row in rows], [("a", 1, 3), ("b", 1, 3)])
        # Of equal ones the first is shown.
        self.assertEqual([row["worst_iteration"] for row in rows], [1, 1])
        self.assertAlmostEqual(rows[0]["share"], 0.5 / (2 * 9), delta=1e-6)
        text, _ = kymo("fleet", "stragglers", "--db", self.url)
        self.assertRegex(text.splitlines()[0], "job$")
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--job", "a")
        self.assertNotIn("job", text)

    def test_rows_that_are_not_shown_count_for_the_exit_code(self):
        now = int(time.time() * 1e6)
        for job, scale, steps in [("long", 2, 3), ("short", 1, 2)]:
            files = [write_trace(self.folder / f"limit-{job}{rank}.json", at_us=now - 60_000_000, rank=rank, steps=steps,
                                 scale=scale, slow_collective=rank == 1) for rank in range(2)]
            kymo("push", *files, self.url, "--job", job)
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--json")
        first, second = json.loads(text)["rows"]
        self.assertLess(first["share"], second["share"])
        above = f"{50 * (first['share'] + second['share']):.4f}%"
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--limit", 1, "--fail-above", above, "--json", expect=1)
        self.assertEqual([row["job"] for row in json.loads(text)["rows"]], ["long"])

    def test_ranks_for_which_nobody_waits_are_not_stragglers(self):
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"equal{rank}.json", at_us=now - 60_000_000, rank=rank, steps=3)
                 for rank in range(2)]
        kymo("push", *files, self.url)
        text, errors = kymo("fleet", "stragglers", "--db", self.url, "--json")
        self.assertEqual(json.loads(text)["rows"], [])
        self.assertIn("no rank makes others wait", errors)

    def test_only_the_newest_run_of_a_step_has_stragglers(self):
        folder = self.folder / "runs"
        folder.mkdir()
        kymo("push", *write_runs(folder, steps=4), self.url, "--job", "train", "-q")
        answer, _ = kymo("fleet", "stragglers", "--db", self.url, "--job", "train", "--json")
        [row] = json.loads(answer)["rows"]
        self.assertEqual((row["rank"], row["times_last"], row["others_waited_ns"]), (1, 4, 4 * 500_000))
        # Of the time of ranks 0 and 1 in this run, and of nothing else.
        self.assertAlmostEqual(row["share"], 0.5 / (2 * 9 * 1.002), delta=1e-6)

    def test_a_push_replaces_one_that_was_made_with_a_clock_ahead_of_time(self):
        file = write_trace(self.folder / "ahead.json", at_us=int(time.time() * 1e6) - 60_000_000, rank=0, steps=3)
        kymo("push", file, self.url, "--job", "first", prefix=["faketime", "+1 day"])
        _, text = kymo("push", file, self.url, "--job", "second")
        self.assertIn("in place of the same one", text)
        kymo("fleet", "top", "--db", self.url, "--job", "first", expect=3)
        kymo("fleet", "top", "--db", self.url, "--job", "second")

    def test_no_traces_no_job_and_no_operation_have_a_reason(self):
        # `filled` is a database with traces of the job 'train'.
        for question in ["top", "diff", "stragglers", "history"]:
            _, text = kymo("fleet", question, "--db", self.filled, "--job", "tr%in", expect=3)
            self.assertIn("no traces of job 'tr%in'", text)
            self.assertIn("'train'", text)
            _, text = kymo("fleet", question, "--db", self.filled, "--job", "train", "--since", "1m", expect=3)
            self.assertIn("use a longer --since", text)
        _, text = kymo("fleet", "history", "--db", self.filled, "--job", "train", "--since", "30d", "--operation", "gem",
                       expect=3)
        self.assertIn("no operation 'gem'", text)

    def test_history_of_a_name_that_host_and_device_have(self):
        now = int(time.time() * 1e6)
        file = write_trace(self.folder / "both.json", at_us=now - 60_000_000, steps=3, names=1, name=lambda _: "gemm")
        kymo("push", file, self.url)
        for name, median in [("gemm", "15.0 µs"), ("gemm (device)", "1.00 ms")]:
            text, _ = kymo("fleet", "history", "--db", self.url, "--operation", name, expect=3)
            self.assertIn("1 sample, median " + median, text)
    def collectives(self, name, rank, calls, *, steps=2, age_s=60):
        """A trace of a rank with these calls in each step: (process group, length in µs, more arguments)."""
        at_us = int(time.time() * 1e6) - age_s * 1_000_000
        events = []
        for step in range(steps):
            begin = at_us + step * 20_000
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step + 1}", "pid": 100,
                           "tid": 100, "ts": begin, "dur": 9_000})
            for i, (group, length, more) in enumerate(calls):
                args = {"Process Group Name": group, "Process Group Ranks": f"[{group}]"} if group else {}
                events.append({"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "name": "ncclDevKernel_AllReduce_Sum",
                               "ts": begin + 1000 * (i + 1) - length, "dur": length, "args": {**args, **more.get("args", {})},
                               **{key: value for key, value in more.items() if key != "args"}})
        file = self.folder / f"{name}{rank}.json"
        file.write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))
        return file

    def stragglers(self, *more, expect=0):
        text, errors = kymo("fleet", "stragglers", "--db", self.url, "--json", *more, expect=expect)
        return {row["rank"]: row for row in json.loads(text)["rows"]}, errors

    def test_ranks_are_late_in_different_calls_of_one_name(self):
        files = [self.collectives("calls", rank, [("", [200, 700][rank], {}), ("", [700, 200][rank], {})])
                 for rank in range(2)]
        kymo("push", *files, self.url)
        rows, _ = self.stragglers()
        self.assertEqual({rank: (row["times_last"], row["others_waited_ns"]) for rank, row in rows.items()},
                         {0: (2, 1_000_000), 1: (2, 1_000_000)})

    def test_ranks_of_different_process_groups_do_not_wait_for_each_other(self):
        # Tensor parallel groups of ranks 0, 1 and 2, 3, of which the second has more to send. Rank 3 is late in the
        # group of all ranks.
        files = [self.collectives("groups", rank, [
            (["0, 1", "2, 3"][rank // 2], [300, 300, 900, 900][rank], {}),
            ("0, 1, 2, 3", 100 if rank == 3 else 400, {})]) for rank in range(4)]
        kymo("push", *files, self.url)
        rows, _ = self.stragglers()
        self.assertEqual(list(rows), [3])
        self.assertEqual((rows[3]["times_last"], rows[3]["others_waited_ns"]), (2, 2 * 3 * 300_000))
        self.assertEqual(rows[3]["worst_group"], "0, 1, 2, 3 [0, 1, 2, 3]")
        text, _ = kymo("fleet", "stragglers", "--db", self.url)
        self.assertRegex(text.splitlines()[0], "process group$")

    def test_only_calls_that_all_ranks_enter_are_compared(self):
        send = {"name": "ncclDevKernel_SendRecv"}
        files = [self.collectives("sends", rank, [("", 100 + 300 * rank, send), ("", 200 + 100 * rank, {})])
                 for rank in range(2)]
        # A rank with another number of calls has lost some: its first call may be the second one of the others.
        files.append(self.collectives("sends", 2, [("", 1, {}), ("", 1, {})]))
        kymo("push", *files, self.url)
        rows, _ = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()}, {0: 200_000})

    def test_traces_of_an_older_version_are_named_and_pushed_again(self):
        """`make_old` removes the calls of all traces, as if an older version had pushed them."""
        late = [self.collectives("old", rank, [("", 300 - 100 * rank, {})]) for rank in range(2)]
        kymo("push", *late, self.url)
        self.make_old()
        text = kymo("fleet", "stragglers", "--db", self.url, expect=2)[1]
        self.assertIn("no table collectives", text)
        kymo("fleet", "top", "--db", self.url)
        new = [self.collectives("new", rank, [("", 200 + 100 * rank, {})], steps=3) for rank in range(2)]
        kymo("push", *new, self.url, "--job", "new")
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["job"] for rank, row in rows.items()}, {0: "new"})
        self.assertRegex(errors, r"not counted: .*old0\.json.*old1\.json.*push them again")
        _, errors = self.stragglers("--job", "", expect=3)
        self.assertIn("not counted", errors)
        self.assertNotIn("several ranks", errors)
        _, errors = self.stragglers("--job", "new")
        self.assertNotIn("not counted", errors)
        _, text = kymo("push", *late, *new, self.url)
        self.assertIn("2 already there", text)
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["job"] for rank, row in rows.items()}, {0: "new", 1: ""})
        self.assertNotIn("not counted", errors)
