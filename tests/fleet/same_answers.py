"""Answers of `kymo fleet` that must be the same from a server and from a folder."""
import json
import time

from clickhouse import kymo, write_trace


class SameAnswers:
    """For a TestCase with a `folder` for files, and a new and empty database at `url`. make_newer() gives its
    tables the version 99."""

    def test_ranks_of_different_jobs_are_different(self):
        now = int(time.time() * 1e6)
        for job in ["a", "b"]:
            files = [write_trace(self.folder / f"job-{job}{rank}.json", at_us=now - 60_000_000, rank=rank, steps=3,
                                 names=2 if job == "a" else 3, slow_collective=rank == 1, ranks=2) for rank in range(2)]
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

    def test_the_row_that_decides_the_exit_code_is_shown(self):
        now = int(time.time() * 1e6)
        for job, scale, steps in [("long", 2, 3), ("short", 1, 2)]:
            files = [write_trace(self.folder / f"limit-{job}{rank}.json", at_us=now - 60_000_000, rank=rank, steps=steps,
                                 scale=scale, slow_collective=rank == 1, ranks=2) for rank in range(2)]
            kymo("push", *files, self.url, "--job", job)
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--json")
        first, second = json.loads(text)["rows"]
        self.assertGreater(first["share"], second["share"])
        self.assertLess(first["others_waited_ns"], second["others_waited_ns"])
        above = f"{50 * (first['share'] + second['share']):.4f}%"
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--limit", 1, "--fail-above", above, "--json", expect=1)
        self.assertEqual([row["job"] for row in json.loads(text)["rows"]], ["short"])

    def test_ranks_for_which_nobody_waits_are_not_stragglers(self):
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"equal{rank}.json", at_us=now - 60_000_000, rank=rank, steps=3, ranks=2)
                 for rank in range(2)]
        kymo("push", *files, self.url)
        text, errors = kymo("fleet", "stragglers", "--db", self.url, "--json")
        self.assertEqual(json.loads(text)["rows"], [])
        self.assertIn("no rank is late", errors)

    def test_no_traces_no_job_and_no_operation_have_a_reason(self):
        # `filled` is a database with traces of the job 'train'.
        for question in ["top", "diff", "stragglers", "history"]:
            _, text = kymo("fleet", question, "--db", self.filled, "--job", "tr%in", expect=3)
            self.assertIn("no traces of job 'tr%in'", text)
            self.assertIn("'train'", text)
            answer, text = kymo("fleet", question, "--db", self.filled, "--job", "train", "--since", "1m", "--json", expect=3)
            self.assertRegex(text, r"no traces of job 'train' from .* to .*; use a longer --since, or one of the latest jobs: 'train' \(last trace ")
            self.assertEqual(["kymo: " + note for note in json.loads(answer)["notes"]], text.splitlines())
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

    def collectives(self, name, rank, calls, *, steps=2, age_s=60, runs=(), metadata=None, wall_us=9_000):
        """A trace of a rank with these calls in each step: (process group, length in µs, more arguments). `runs` are the
        calls of earlier runs of the same steps in the same trace; a run takes 20 ms for each step. `metadata` is as of
        the environment of a recorded program."""
        self.now = getattr(self, "now", int(time.time() * 1e6))  # the same for all ranks of a test
        at_us = int(self.now - age_s * 1_000_000)
        events = []
        for run, its_calls in enumerate([*runs, calls]):
            for step in range(steps):
                begin = at_us + (run * steps + step) * 20_000
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step + 1}", "pid": 100,
                               "tid": 100, "ts": begin, "dur": wall_us})
                for i, (group, length, more) in enumerate(its_calls):
                    args = {"Process Group Name": group, "Process Group Ranks": f"[{group}]"} if group else {}
                    events.append({"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "name": "ncclDevKernel_AllReduce_Sum",
                                   "ts": begin + 1000 * (i + 1) - length, "dur": length,
                                   "args": {**args, **more.get("args", {})},
                                   **{key: value for key, value in more.items() if key != "args"}})
        file = self.folder / f"{name}{rank}.json"
        file.write_text(json.dumps({"distributedInfo": {"rank": rank}, **(metadata or {}), "traceEvents": events}))
        return file

    def stragglers(self, *more, expect=0):
        text, errors = kymo("fleet", "stragglers", "--db", self.url, "--json", *more, expect=expect)
        return {row["rank"]: row for row in json.loads(text)["rows"]}, errors

    def test_ranks_are_late_in_different_calls_of_one_name(self):
        files = [self.collectives("calls", rank, [("0, 1", [200, 700][rank], {}), ("0, 1", [700, 200][rank], {})])
                 for rank in range(2)]
        kymo("push", *files, self.url)
        rows, _ = self.stragglers()
        # Both waited as long as they were waited for.
        self.assertEqual(rows, {})

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
        self.assertEqual(rows[3]["group"], "0, 1, 2, 3 [0, 1, 2, 3]")
        text, _ = kymo("fleet", "stragglers", "--db", self.url)
        self.assertRegex(text.splitlines()[0], "process group$")

    def test_a_host_is_named_only_if_the_trace_names_it(self):
        for job in range(2):
            kymo("push", *(self.collectives(f"hosts{job}-", rank, [("0, 1", [200, 700][rank ^ job], {})],
                                            metadata={"host_name": "node17"} if rank else None) for rank in range(2)),
                 self.url, "--job", f"job{job}")
        rows, _ = self.stragglers()
        self.assertEqual({rank: row["host"] for rank, row in rows.items()}, {0: "", 1: "node17"})
        lines = kymo("fleet", "stragglers", "--db", self.url)[0].splitlines()
        self.assertRegex(lines[0], " host +job$")
        self.assertEqual({line.split()[0]: line.split()[-2] for line in lines[1:]}, {"0": "(unknown)", "1": "node17"})

    def test_sends_and_receives_are_not_collectives(self):
        send = {"name": "ncclDevKernel_SendRecv"}
        files = [self.collectives("sends", rank, [("0, 1", 100 + 300 * rank, send), ("0, 1", 200 + 100 * rank, {})])
                 for rank in range(2)]
        kymo("push", *files, self.url)
        rows, _ = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()}, {0: 200_000})

    def assert_nobody_is_named(self, note, *more):
        rows, errors = self.stragglers(*more, expect=3)
        self.assertEqual(rows, {})
        self.assertRegex(errors, note)
        self.assertIn("no wait in a collective can be compared", errors)
        answer = json.loads(kymo("fleet", "stragglers", "--db", self.url, "--json", *more, expect=3)[0])
        self.assertEqual(["kymo: " + line for line in answer["notes"]], errors.splitlines())

    def assert_partial(self, expected, note, *more):
        """`expected`: how long others waited for each rank in ns, and how many of the calls lack ranks."""
        rows, errors = self.stragglers(*more)
        self.assertEqual({rank: (row["others_waited_ns"], row["partial_iterations"]) for rank, row in rows.items()}, expected)
        self.assertRegex(errors, "(?m)^kymo: partial: ranks are missing in job '.*', and one of them may be the late one: "
                                 f".*{note}")
        self.assertRegex(kymo("fleet", "stragglers", "--db", self.url, *more)[0].splitlines()[0], " partial( |$)")

    def test_the_answer_without_the_trace_of_a_rank_is_partial(self):
        # Rank 2 is late. Without it, rank 1 is the one with the shortest call.
        files = [self.collectives("absent", rank, [("0, 1, 2", [900, 800, 100][rank], {})]) for rank in range(3)]
        kymo("push", files[0], self.url, "--job", "train")
        self.assert_nobody_is_named("2 iterations of job 'train', because too few ranks of the process group have them: none of ranks "
                                    r"1-2 of process group '0, 1, 2 \[0, 1, 2\]'; push the traces of all ranks")
        kymo("push", files[1], self.url, "--job", "train")
        self.assert_partial({1: (2 * 100_000, 2)}, r"none of rank 2 of process group '0, 1, 2 \[0, 1, 2\]'; push the traces of all")
        kymo("push", files[2], self.url, "--job", "train")
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["partial_iterations"] for rank, row in rows.items()}, {2: 0})
        self.assertEqual(errors, "")

    def test_a_job_that_cannot_be_judged_is_not_below_a_limit(self):
        for job, ranks, first in [("whole", 2, 200), ("half", 1, 150)]:
            kymo("push", *(self.collectives(job, rank, [("0, 1", [first, 201][rank], {})]) for rank in range(ranks)), self.url,
                 "--job", job)
        rows, _ = self.stragglers()
        self.assertEqual(list(rows), [0])
        self.stragglers("--fail-above", "50%", expect=3)
        self.stragglers("--fail-above", "50%", "--job", "whole")
        text, _ = kymo("fleet", "stragglers", "--db", self.url)
        self.assertRegex(text, r"(?m) job$")
        self.assertRegex(text, r"(?m) whole$")

    def test_calls_of_which_a_rank_lost_some_are_partial(self):
        calls = [("0, 1, 2", [900, 800, 100], {}), ("0, 1, 2", [300, 200, 300], {})]
        files = [self.collectives("lost", rank, [(group, times[rank], more) for group, times, more in calls[rank == 2:]])
                 for rank in range(3)]
        kymo("push", *files, self.url)
        self.assert_partial({1: (4 * 100_000, 2)}, "rank 2 has fewer than 4 calls of process group")

    def test_a_rank_that_lost_calls_with_sequence_numbers_is_missing(self):
        calls = [([900, 800, 100], {"args": {"Seq": 7}}), ([300, 200, 300], {"args": {"Seq": 8}})]
        files = [self.collectives("seq", rank, [("0, 1, 2", times[rank], more) for times, more in calls[rank == 2:]])
                 for rank in range(3)]
        kymo("push", *files, self.url)
        self.assert_partial({1: (2 * 200_000, 2)}, "rank 2 has fewer than 4 calls")

    def test_calls_with_different_sequence_numbers_are_different(self):
        files = [self.collectives("other", rank, [("0, 1", [900, 100][rank], {"args": {"Seq": 7 + rank}})]) for rank in range(2)]
        kymo("push", *files, self.url)
        self.assert_nobody_is_named("the calls of the ranks are different ones")

    def test_calls_without_a_process_group_need_the_number_of_ranks(self):
        files = [self.collectives("plain", rank, [("", [900, 800, 100][rank], {})]) for rank in range(3)]
        kymo("push", *files, self.url)
        self.assert_nobody_is_named("2 iterations of job '', because the traces do not say which ranks take part; use --ranks")
        self.assert_partial({2: (2 * 1_500_000, 2)}, "none of 1 of the 4 ranks of the calls without a process group", "--ranks", 4)
        rows, _ = self.stragglers("--ranks", 3)
        self.assertEqual(list(rows), [2])

    def test_a_trace_that_does_not_name_the_process_group_is_missing(self):
        files = [self.collectives("nameless", rank, [("" if rank == 2 else "0, 1, 2", [900, 800, 100][rank], {})])
                 for rank in range(3)]
        kymo("push", *files, self.url)
        self.assert_partial({1: (2 * 100_000, 2)}, "none of rank 2 of process group")

    def test_the_order_of_the_ranks_of_a_group_does_not_matter(self):
        files = [self.collectives("order", rank, [("tp", [900, 100][rank], {"args": {
            "Process Group Ranks": ["[0, 1]", "[1,0]"][rank]}})]) for rank in range(2)]
        kymo("push", *files, self.url)
        rows, _ = self.stragglers()
        self.assertEqual(list(rows), [1])
        self.assertEqual(rows[1]["group"], "tp [0, 1]")

    def test_a_list_of_ranks_that_was_cut_has_the_size_of_the_group(self):
        more = {"args": {"Process Group Ranks": "[0, 1, ...]", "Group size": 3}}
        files = [self.collectives("cut", rank, [("dp", [900, 800, 100][rank], more)]) for rank in range(3)]
        kymo("push", *files[:2], self.url)
        self.assert_partial({1: (2 * 100_000, 2)}, "none of 1 of the 3 ranks of process group")
        kymo("push", files[2], self.url)
        self.assertEqual(list(self.stragglers()[0]), [2])

    def test_no_rank_is_late_in_calls_with_a_root(self):
        # The root of a broadcast is done when it has sent: nobody waited for it.
        broadcast = {"name": "ncclDevKernel_Broadcast_RING_LL"}
        kymo("push", *(self.collectives("root", rank, [("0, 1", [100, 900][rank], broadcast), ("0, 1", [500, 300][rank], {})])
                       for rank in range(2)), self.url)
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()}, {1: 2 * 200_000})
        self.assertEqual(errors, "")

    def test_a_job_that_has_only_calls_with_a_root_and_sends_says_so(self):
        calls = [{"name": "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"}, {"name": "ncclDevKernel_SendRecv"}]
        kymo("push", *(self.collectives("only-root", rank, [("0, 1", [100, 900][rank], call) for call in calls])
                       for rank in range(2)), self.url, "--job", "pipeline")
        rows, errors = self.stragglers(expect=3)
        self.assertEqual(rows, {})
        self.assertIn("no collective on a device in which all ranks wait for each other", errors)

    def test_a_kernel_for_all_collectives_counts_only_if_the_trace_names_the_collective(self):
        # As of RCCL. It may be a broadcast, for whose root nobody waits.
        generic = {"name": "ncclDevKernel_Generic_4"}
        named = {**generic, "args": {"Collective name": "allreduce"}}
        calls = [(100, 900, generic), (500, 300, named)]
        _, said = kymo("push", *(self.collectives("generic", rank, [("0, 1", call[rank], call[2]) for call in calls])
                                 for rank in range(2)), self.url, "--job", "train")
        self.assertIn("2 calls (ncclDevKernel_Generic_4) on devices do not say which collective they are", said)
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()}, {1: 2 * 200_000})
        self.assertEqual(errors, "")

    def test_a_rank_that_is_not_in_the_group_does_not_stand_for_one_that_is(self):
        files = [self.collectives("label", rank, [("0, 1, 2", time, {})]) for rank, time in [(0, 900), (1, 800), (9, 100)]]
        kymo("push", *files, self.url, "--job", "train")
        self.assert_partial({1: (2 * 100_000, 2)}, "none of rank 2 of process group '0, 1, 2")

    def test_iterations_of_which_too_many_ranks_are_missing_are_not_in_the_share(self):
        kymo("push", *(self.collectives("share", rank, [("0, 1, 2, 3", [900, 900, 900, 100][rank], {})],
                                        steps=4 if rank > 1 else 2) for rank in range(4)), self.url)
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()}, {3: 2 * 3 * 800_000})
        self.assertAlmostEqual(rows[3]["share"], 2 * 3 * 800 / (2 * 4 * 9_000), delta=1e-9)
        self.assertIn("ranks 0-1 have fewer than 4 calls", errors)

    def test_others_wait_for_at_most_all_time(self):
        # The host only launches: its steps are shorter than the work of the device.
        kymo("push", *(self.collectives("async", rank, [("0, 1", 980, {"dur": [100, 4900][rank]})], wall_us=50)
                       for rank in range(2)), self.url)
        rows, _ = self.stragglers()
        self.assertAlmostEqual(rows[0]["share"], 4800 / 5000, delta=1e-9)

    def test_only_the_rank_that_is_late_is_named(self):
        # Tensor parallel groups of 4 and data parallel groups of 2. Rank 2 is late by 400 µs. The others of its tensor
        # group wait for it, and make those of their data parallel groups wait as long.
        def calls(rank, late):
            first = 4 * (rank // 4)
            tensor = ", ".join(map(str, range(first, first + 4)))
            waits = 500 + (late if first == 0 and rank != 2 else 0)
            return [(tensor, waits + 3 * rank, {}), (f"{rank % 4}, {rank % 4 + 4}", 100 + (late if rank >= 4 else 0) + rank, {})]

        for job, late in [("late", 400), ("balanced", 0)]:
            kymo("push", *(self.collectives(job, rank, calls(rank, late), age_s=60 + late) for rank in range(8)), self.url, "--job", job)
        rows, _ = self.stragglers("--job", "late")
        self.assertEqual(list(rows), [2])
        self.assertEqual(rows[2]["waited_itself_ns"], 0)
        # Of the time of its own group, and not of all ranks.
        self.assertAlmostEqual(rows[2]["share"], 0.4 / 9, delta=0.4 / 9 / 3)
        rows, errors = self.stragglers("--job", "balanced")
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items() if row["share"] > 0.01}, {})

    def test_tables_of_a_newer_version_are_refused(self):
        kymo("push", self.collectives("newer", 0, [("0, 1", 100, {})]), self.url)
        self.make_newer()
        for question in ["top", "diff", "stragglers", "history"]:
            _, text = kymo("fleet", question, "--db", self.url, expect=2)
            self.assertIn("has tables of version 99, and this kymo has version 8: push the traces into a new database", text)

    def test_a_job_that_is_not_among_the_latest_is_found(self):
        now = int(time.time() * 1e6)
        for i in range(21):
            file = write_trace(self.folder / f"many{i}.json", at_us=now - (100 - i) * 86_400_000_000, steps=3, names=1)
            kymo("push", file, self.url, "--job", f"job{i}", "-q")
        _, text = kymo("fleet", "top", "--db", self.url, "--job", "job0", expect=3)
        self.assertIn("no traces of job 'job0' from ", text)
        self.assertIn("use a longer --since", text)

