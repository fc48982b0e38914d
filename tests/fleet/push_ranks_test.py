#!/usr/bin/env python3
"""`kymo push` of files with several ranks: each rank is a trace of its own, in a folder and on a server."""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

RANKS, STEPS, NAMES = 4, 5, 3
ROUNDS = int(os.environ.get("KYMO_PUSH_ROUNDS", "3"))
DAY_US = 86_400_000_000


class Ranks:
    """What holds for every store. `self.url` is a new one for each test."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-ranks-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.recorded = cls.folder / "recorded.kymo"
        kymo("record", "-o", cls.recorded, "--", clickhouse.BIN / "launches_ranks", RANKS, STEPS)
        now = int(time.time() * 1e6)
        cls.single = [write_trace(cls.folder / f"rank{rank}.json", rank=rank, steps=STEPS, names=NAMES, ranks=RANKS,
                                  at_us=now - 3_600_000_000, slow_collective=rank == 2)
                      for rank in range(RANKS)]
        cls.merged = cls.folder / "merged.kymo"
        kymo("merge", *cls.single, "-o", cls.merged)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def ask(self, question, *more, url=None, expect=0):
        since = [] if "--since" in more else ["--since", "30d"]
        text, _ = kymo("fleet", question, "--db", url or self.url, "--json", *since, *more, expect=expect)
        return json.loads(text)["rows"]

    def top(self, *more, expect=None):
        return {row["name"]: row for row in self.ask("top", "--limit", 1000, *more, expect=expect)}

    def test_each_rank_of_a_recording_is_a_trace(self):
        _, text = kymo("push", self.recorded, self.url)
        self.assertIn(f"{RANKS} traces pushed", text)
        self.assertNotIn("damaged", text)
        top = self.top()
        self.assertEqual((top["work"]["traces"], top["work"]["ranks"], top["work"]["calls"]),
                         (RANKS, RANKS, RANKS * STEPS))
        self.assertNotIn("launch", top)  # it belongs to no rank
        self.assertIn("1 process without a rank and iterations is not pushed, such as a launcher", text)
        for more in [[], ["--job", "launches_ranks"]]:
            _, text = kymo("push", self.recorded, self.recorded, self.url, *more)
            self.assertIn(f"0 traces pushed (0 rows), {2 * RANKS} already there", text)
        self.assertEqual(self.top(), top)

    def test_work_on_a_device_belongs_to_the_rank_that_launched_it(self):
        file = self.folder / f"{type(self).__name__}-devices.kymo"
        program = clickhouse.BIN / "uses_device"
        said, _ = kymo("record", "-o", file, "--", "sh", "-c",
                       f"for rank in 0 1; do RANK=$rank '{program}' || exit 1; done", expect=None)
        if "value: 0.5" not in said:
            self.skipTest("no device")
        kymo("push", file, self.url)
        [row] = [row for row in self.ask("top", "--limit", 1000) if row["name"] == "full" and row["device"]]
        self.assertEqual((row["traces"], row["ranks"], row["calls"]), (2, 2, 2))

    def test_a_merged_file_answers_as_the_single_ones(self):
        kymo("push", self.merged, self.url, "--job", "train")
        other = self.other_url()
        kymo("push", *self.single, other, "--job", "train")
        for question in ["stragglers", "top"]:
            rows = [self.ask(question, url=url) for url in [self.url, other]]
            for row in rows[0] + rows[1]:
                for key in ["slowest_trace", "slowest_rank", "worst_trace"]:  # several are equally slow
                    row.pop(key, None)
            self.assertEqual(*[sorted(some, key=json.dumps) for some in rows])
            self.assertTrue(rows[0])
        [row] = self.ask("stragglers")
        self.assertEqual((row["rank"], row["times_last"]), (2, STEPS))

    def test_how_well_the_clocks_were_merged_does_not_matter(self):
        """The clocks differ by more than the collectives can show, so the merged file states an error of a second."""
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"away{rank}.json", rank=rank, steps=STEPS, names=NAMES, ranks=2,
                             at_us=now - 3_600_000_000 + rank * 1_000_000, slow_collective=rank == 1) for rank in range(2)]
        merged = self.folder / "away.kymo"
        kymo("merge", *files, "-o", merged)
        self.assertIn("clock.alignment_error_ns  1000000000", kymo("info", merged)[0])
        kymo("push", merged, self.url)
        [row] = self.ask("stragglers")
        self.assertEqual((row["rank"], row["times_last"]), (1, STEPS))

    def test_a_job_that_is_given_is_that_of_all_ranks(self):
        kymo("push", self.recorded, self.url, "--job", "right")
        self.assertEqual(self.top("--job", "right")["work"]["ranks"], RANKS)
        _, text = kymo("push", self.recorded, self.url, "--job", "other")
        self.assertIn(f"{RANKS} already there", text)
        self.assertEqual(self.top("--job", "right")["work"]["ranks"], RANKS)

    def test_several_jobs_and_months_in_one_file(self):
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"{job}{rank}.json", rank=rank, steps=STEPS, names=NAMES,
                             at_us=now - (40 * DAY_US if rank else 0), metadata={"KYMO_JOB": job})
                 for job in ["one", "two"] for rank in range(2)]
        parts = []
        for file in files:
            kymo("import", file, "-o", f"{file}.kymo")
            parts.append(pathlib.Path(f"{file}.kymo").read_bytes())
        both = self.folder / "both.kymo"
        both.write_bytes(b"".join(parts))
        for _ in range(2):
            kymo("push", both, self.url)
            for job in ["one", "two"]:
                row = self.top("--job", job, "--since", "100d")["gemm"]
                self.assertEqual((row["ranks"], row["traces"], row["calls"]), (2, 2, 2 * STEPS))

    def test_a_killed_push_loses_and_doubles_nothing(self):
        for round_number in range(ROUNDS):
            url = f"{self.url}{round_number}"
            command = [clickhouse.KYMO, "push", self.merged, self.recorded, url, "-q", "--job", "train"]
            clickhouse.push_after_kills(command)
            rows = {row["name"]: row for row in self.ask("top", "--limit", 1000, url=url)}
            for name in ["gemm", "work"]:
                self.assertEqual((rows[name]["traces"], rows[name]["calls"]), (RANKS, RANKS * STEPS))

    def test_a_watched_file_is_deleted_when_all_its_ranks_are_there(self):
        arriving = self.folder / f"{type(self).__name__}-arriving"
        arriving.mkdir()
        watch = ["watch", arriving, "--push", self.url, "--once", "--keep"]
        (arriving / "a.kymo").write_bytes(self.merged.read_bytes())
        kymo(*watch, "1GB")
        self.assertEqual(self.top()["gemm"]["traces"], RANKS)
        _, text = kymo(*watch, "1B")
        self.assertIn("deleted", text)
        self.assertFalse((arriving / "a.kymo").exists())
        self.assertEqual(self.top()["gemm"]["traces"], RANKS)


class FolderTest(Ranks, unittest.TestCase):
    def setUp(self):
        self.url = f"parquet:{self.folder}/{self.id().rsplit('.', 1)[-1]}"

    def other_url(self):
        return f"{self.url}-other"


class ServerTest(clickhouse.WithServer, Ranks, unittest.TestCase):
    def other_url(self):
        return self.server.url(f"{self.database}_other")

    def test_damaged_events_count_for_their_rank_and_a_missing_end_for_all(self):
        def marks(name, content):
            file = self.folder / f"{name}.kymo"
            file.write_bytes(content)
            if name == "events":
                clickhouse.damage_events(file)
            _, text = kymo("push", file, self.url, "--job", name)
            return text, self.server.rows(f"SELECT problems > 0, complete FROM {self.database}.traces WHERE job = '{name}'")

        good = self.merged.read_bytes()
        text, found = marks("events", good)
        self.assertIn("is damaged: ", text)
        self.assertEqual(sorted(found), [["0", "1"]] * (RANKS - 1) + [["1", "0"]])
        self.assertEqual(marks("cut", good[:-10])[1], [["0", "0"]] * RANKS)

    def test_all_tables_have_the_rows_of_each_rank(self):
        kymo("push", self.recorded, self.url)
        ranks = [str(rank) for rank in range(RANKS)]
        for table, condition, count in [("iterations", "1", STEPS), ("operations", "name = 'work'", 1)]:
            rows = self.server.rows(f"SELECT rank, count() FROM {self.database}.{table} WHERE {condition} GROUP BY rank "
                                    "ORDER BY rank")
            self.assertEqual(rows, [[rank, str(count)] for rank in ranks], (table, condition))
        marks = self.server.rows(f"SELECT rank, complete, problems FROM {self.database}.traces ORDER BY rank")
        self.assertEqual(marks, [[rank, "1", "0"] for rank in ranks])


if __name__ == "__main__":
    clickhouse.skip_without_server()
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
