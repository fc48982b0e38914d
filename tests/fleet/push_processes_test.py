#!/usr/bin/env python3
"""`kymo push` of files in which a rank has several processes: each one with iterations is a trace of its own."""
import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

PROGRAM = clickhouse.BIN / "launches_ranks"
STEPS = 5


class Processes:
    """What holds for every store. `self.url` is a new one for each test."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-processes-")
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def record(self, script, *more, name="recorded"):
        """Records a shell script, in which `rank N STEPS` and `other STEPS` are processes with and without a rank."""
        file = self.folder / f"{self.id().rsplit('.', 1)[-1]}-{name}.kymo"
        kymo("record", *more, "-o", file, "--", "sh", "-c",
             f"rank() {{ RANK=$1 '{PROGRAM}' 0 $2; }}; other() {{ '{PROGRAM}' 0 $1; }}; {script}")
        return file

    def ask(self, question, *more, expect=0, url=None):
        text, _ = kymo("fleet", question, "--db", url or self.url, "--json", "--since", "30d", *more, expect=expect)
        return json.loads(text)

    def work(self, *more, url=None):
        """How many traces, ranks and calls of `work` there are."""
        rows = [row for row in self.ask("top", "--limit", 1000, *more, expect=None, url=url)["rows"] if row["name"] == "work"]
        return [(row["traces"], row["ranks"], row["calls"]) for row in rows]

    def push(self, file, *more, expect=0):
        _, text = kymo("push", file, self.url, *more, expect=expect)
        self.assertNotIn("damaged", text)
        return text

    def check_all(self, file, traces, ranks, calls):
        """All is pushed, once; and the whole file is deleted."""
        self.assertIn(f"{traces} traces pushed", self.push(file))
        self.assertEqual(self.work(), [(traces, ranks, calls)])
        self.assertEqual(self.ask("top")["notes"], [])
        self.assertIn(f"0 traces pushed (0 rows), {traces} already there", self.push(file))
        other = self.other_url()
        clickhouse.push_after_kills([clickhouse.KYMO, "push", str(file), other, "-q", "--job", "other"])
        self.assertEqual(self.work("--job", "other", url=other), [(traces, ranks, calls)])
        arriving = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (arriving / "a.kymo").write_bytes(file.read_bytes())
        kymo("watch", arriving, "--push", self.url, "--once", "--keep", "1B")
        self.assertFalse((arriving / "a.kymo").exists())

    def test_a_rank_that_was_started_again(self):
        """The launcher has no rank, and belongs to the first one."""
        file = self.folder / f"{type(self).__name__}-launched.kymo"
        kymo("record", "-o", file, "--", PROGRAM, 1, STEPS, 2)
        self.check_all(file, 2, 1, 2 * STEPS)
        [job] = {row["slowest_rank"] for row in self.ask("top", "--job", "launches_ranks")["rows"]}
        self.assertEqual(job, 0)

    def test_ranks_of_which_one_was_started_again(self):
        self.check_all(self.record("rank 0 7; rank 0 2; rank 1 3"), 3, 2, 12)

    def test_an_appended_recording(self):
        file = self.record("rank 5 4")
        self.assertIn("1 trace pushed", self.push(file))
        self.record("rank 5 3", "--append")
        self.assertIn("2 traces pushed", self.push(file))
        # The first recording is there twice now, and counts once.
        self.assertEqual(self.work(), [(2, 1, 7)])
        [note] = self.ask("top")["notes"]
        self.assertIn("not counted: 1 trace, because another file of the same recording counts", note)

    def test_the_first_part_of_a_file_does_not_count_beside_the_whole(self):
        file = self.record("rank 5 40")
        part = self.folder / f"{type(self).__name__}-part.kymo"
        part.write_bytes(file.read_bytes()[:-100])
        self.assertIn("1 trace pushed", self.push(part))
        self.record("rank 5 3", "--append")
        self.assertIn("2 traces pushed", self.push(file))
        self.assertEqual(self.work(), [(2, 1, 43)])
        [note] = self.ask("top")["notes"]
        self.assertIn("not counted: 1 incomplete trace", note)

    def test_an_appended_recording_without_a_rank(self):
        file = self.record("other 4")
        self.record("other 3", "--append")
        self.check_all(file, 2, 1, 7)

    def test_a_merge_of_two_recordings_of_a_rank(self):
        merged = self.folder / f"{type(self).__name__}-merged.kymo"
        kymo("merge", self.record("rank 2 4", name="a"), self.record("rank 2 5", name="b"), "-o", merged)
        self.check_all(merged, 2, 1, 9)

    def test_runs_of_a_job_in_one_file(self):
        self.check_all(self.record("for run in a b; do for rank in 0 1; do KYMO_RUN=$run rank $rank 3; done; done"), 4, 2,
                       12)

    def test_runs_at_the_same_time(self):
        self.check_all(self.record("KYMO_RUN=a rank 0 30 & KYMO_RUN=b rank 0 30; wait"), 2, 1, 60)

    def test_a_process_without_a_rank_beside_the_only_one(self):
        file = self.record("other 40 & rank 1 30; wait")
        self.check_all(file, 2, 2, 70)
        self.assertEqual(self.rank_of_steps(), {30: 1, 40: -1})

    def test_a_process_at_the_same_time_as_the_rank(self):
        """It has the rank in its environment, but is not the rank: that is the one with the longer iterations."""
        file = self.record("rank 1 100 & rank 1 20; wait")
        self.check_all(file, 2, 2, 120)
        self.assertEqual(self.rank_of_steps(), {20: -1, 100: 1})

    def rank_of_steps(self):
        """The rank of the trace that has so many steps."""
        return {int(steps): int(rank) for steps, rank in self.traces()}

    def test_a_helper_with_iterations_hides_no_straggler(self):
        """Each file has another process that numbers its iterations too, at the same time, and 10 s later."""
        now = int(time.time() * 1e6) - 3_600_000_000
        for rank in range(2):
            file = self.folder / f"{type(self).__name__}-helper{rank}.json"
            write_trace(file, rank=rank, steps=STEPS, names=3, ranks=2, at_us=now, slow_collective=rank == 1)
            trace = json.loads(file.read_text())
            for step in range(STEPS):
                trace["traceEvents"].append({"ph": "X", "name": f"step {step + 1}", "pid": 200, "tid": 200,
                                             "ts": now + 10_000_000 * rank + step * 20_000, "dur": 19_000})
            file.write_text(json.dumps(trace))
            self.assertIn("2 traces pushed", self.push(file, "--job", "train"))
        answer = self.ask("stragglers")
        [row] = answer["rows"]
        self.assertEqual((row["rank"], row["times_last"]), (1, STEPS))
        self.assertEqual(answer["notes"], [])


class FolderTest(Processes, unittest.TestCase):
    def setUp(self):
        self.url = f"parquet:{self.folder}/{self.id().rsplit('.', 1)[-1]}"

    def other_url(self):
        return f"{self.url}-other"

    def traces(self):
        path, copy = self.url.removeprefix("parquet:"), self.folder / "traces.csv"
        clickhouse.run_duckdb(f"COPY (SELECT iterations, rank FROM '{path}/kymo-8/*/traces.parquet' QUALIFY attempt = "
                              f"max(attempt) OVER (PARTITION BY trace)) TO '{copy}' (HEADER false)")
        return [line.split(",") for line in copy.read_text().split()]


class ServerTest(clickhouse.WithServer, Processes, unittest.TestCase):
    def other_url(self):
        return self.server.url(f"{self.database}_other")

    def traces(self):
        return self.server.rows(f"SELECT argMax(iterations, attempt), argMax(rank, attempt) FROM {self.database}.traces "
                                "GROUP BY trace")


if __name__ == "__main__":
    clickhouse.skip_without_server()
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
