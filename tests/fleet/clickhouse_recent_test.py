#!/usr/bin/env python3
"""`kymo push` and `kymo fleet` with a recent ClickHouse (chdb, only for x86-64)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
import same_answers  # noqa: E402
import same_comparisons  # noqa: E402
import same_runs  # noqa: E402
import same_selection  # noqa: E402
from clickhouse import kymo, visible, write_trace  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kymo"
DAY_US = 86_400_000_000


class Recent(clickhouse.Server):
    def __init__(self, library, folder):  # not the process of the base class
        folder.mkdir()
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("chdb_server.py"), library,
                                         folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.http = int(self.process.stdout.readline())


class RecentTest(same_answers.SameAnswers, same_comparisons.SameComparisons, same_runs.SameRuns, same_selection.SameSelection,
                 unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-recent-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.server = Recent(LIBRARY, cls.folder / "server")
        cls.filled = cls.server.url()
        now = int(time.time() * 1e6)
        cls.files = []
        for week in range(2):
            for sample in range(12):
                for rank in range(2):
                    file = write_trace(cls.folder / f"{week}-{sample}-{rank}.json", names=3, steps=3,
                                       at_us=now - (13 - 7 * week) * DAY_US + sample * DAY_US // 4,
                                       scale=(1.5 if week else 1.0) * (1 + sample * 5 % 12 / 1000),
                                       first_step=1 + 1000 * week + 10 * sample, slow_collective=rank == 1, ranks=2)
                    cls.files.append(file)
                    kymo("push", file, cls.server.url(), "--job", "train", "--rank", rank, "--events", "-q")

    @classmethod
    def tearDownClass(cls):
        cls.server.process.kill()
        cls.server.process.communicate()
        cls.temporary.cleanup()

    def setUp(self):
        self.database = "d" + self.id().rsplit(".", 1)[-1]
        self.url = self.server.url(self.database)

    def make_old(self):
        self.server.query(f"DROP TABLE {self.database}.collective_calls")

    def make_newer(self):
        self.server.query(f"INSERT INTO {self.database}.kymo_schema (version, attempt) VALUES (99, 0)")

    def ask(self, question, *more, expect=0):
        arguments = ["--db", self.server.url(), "--job", "train", "--json", *([] if "--since" in more else ["--since", "30d"]), *more]
        return json.loads(kymo("fleet", question, *arguments, expect=expect)[0])["rows"]

    def test_every_trace_is_there_once(self):
        _, text = kymo("push", *self.files, self.server.url(), "--job", "train")
        self.assertIn("48 already there", text)
        self.assertEqual(visible(self.server, "traces"), 48)
        self.assertEqual(visible(self.server, "iterations"), 144)
        self.assertEqual(visible(self.server, "operations"), 144 * 6)
        self.assertEqual(visible(self.server, "events"), 144 * 6)
        kymo("push", self.server.url(), "--remove-orphans")

    def test_questions(self):
        self.assertEqual({row["name"]: row["traces"] for row in self.ask("top")}["gemm"], 48)
        self.assertEqual([row["rank"] for row in self.ask("stragglers")], [1])
        for more in [["--operation", "gemm"], []]:
            self.assertEqual(len(self.ask("history", *more)), 1)
        rows = {row["path"]: row for row in self.ask("diff", "--since", "7d")}
        self.assertEqual(rows["gemm"]["change"], "slower")

    def test_errors_are_reported(self):
        _, text = kymo("fleet", "top", "--db", self.server.url("absent"), expect=2)
        self.assertIn("absent", text)


if __name__ == "__main__":
    found = sorted(CACHE.glob("chdb-*/libchdb.so"))
    if not found:
        print("SKIPPED: a recent ClickHouse is not installed (scripts/install-chdb, only for x86-64)")
        sys.exit(clickhouse.SKIP)
    LIBRARY = found[-1]
    unittest.main(verbosity=2)
