#!/usr/bin/env python3
"""`kymo fleet` and `kymo watch` with a ClickHouse server."""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
import same_answers  # noqa: E402
import same_comparisons  # noqa: E402
import same_runs  # noqa: E402
import same_selection  # noqa: E402
from clickhouse import kymo, visible, write_trace  # noqa: E402
from waiting import wait_until  # noqa: E402

DAY_US = 86_400_000_000


class FleetTest(same_answers.SameAnswers, same_comparisons.SameComparisons, same_runs.SameRuns, same_selection.SameSelection,
                unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-fleet-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.server = clickhouse.Server(cls.folder / "server").start()
        now = int(time.time() * 1e6)
        files = []
        # Twelve recordings in each of two weeks. In the second week everything on the device is slower.
        for week in range(2):
            for sample in range(12):
                begin = now - (13 - 7 * week) * DAY_US + sample * DAY_US // 4
                for rank in range(2):
                    file = write_trace(cls.folder / f"{week}-{sample}-{rank}.json", at_us=begin, names=3, steps=3,
                                       scale=(1.5 if week else 1.0) * (1 + sample * 5 % 12 / 1000),
                                       first_step=1 + 1000 * week + 10 * sample, slow_collective=rank == 1, ranks=2, rank=rank)
                    files.append(file)
        cls.filled = cls.all = cls.server.url()
        kymo("push", *files, cls.all, "--job", "train", "-q")

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.temporary.cleanup()

    def setUp(self):
        self.database = "d" + self.id().rsplit(".", 1)[-1]
        self.url = self.server.url(self.database)

    def make_newer(self):
        self.server.query(f"INSERT INTO {self.database}.kymo_schema (version, attempt) VALUES (99, 0)")

    def ask(self, *arguments, expect=0):
        return json.loads(kymo("fleet", *arguments, "--json", expect=expect)[0])

    def test_top_adds_up(self):
        rows = {row["name"]: row for row in self.ask("top", "--db", self.all, "--job", "train", "--since", "30d")["rows"]}
        self.assertEqual((rows["gemm"]["traces"], rows["gemm"]["calls"]), (48, 3 * 48))
        text, _ = kymo("fleet", "top", "--db", self.all, "--job", "train", "--since", "30d", "--limit", 2)
        self.assertEqual(len(text.splitlines()), 4)  # with that of the devices

    def test_diff_finds_the_slower_week(self):
        arguments = ["diff", "--db", self.all, "--job", "train", "--since", "7d"]
        answer = self.ask(*arguments, "--fail-above", "5%", expect=1)
        rows = {row["path"]: row for row in answer["rows"]}
        self.assertEqual(rows["gemm"]["change"], "slower")
        self.assertAlmostEqual(rows["gemm"]["median_b_ns"] / rows["gemm"]["median_a_ns"], 1.5, delta=0.02)
        self.assertEqual(rows["ncclDevKernel_AllReduce_Sum"]["change"], "same")
        self.assertEqual(answer["a"], 12)
        kymo(*["fleet", *arguments], expect=0)
        kymo(*["fleet", *arguments], "--fail-above", "900%", expect=0)

    def test_the_straggler_is_the_rank_with_the_shortest_collectives(self):
        arguments = ["--db", self.all, "--job", "train", "--since", "30d"]
        rows = self.ask("stragglers", *arguments)["rows"]
        self.assertEqual([row["rank"] for row in rows], [1])
        self.assertEqual(rows[0]["times_last"], 24 * 3)
        self.assertEqual(rows[0]["others_waited_ns"], 24 * 3 * 500_000)
        kymo("fleet", "stragglers", *arguments, "--fail-above", "1%", expect=1)

    def test_history_has_the_change_and_a_trace_that_shows_it(self):
        arguments = ["--db", self.all, "--job", "train", "--since", "30d"]
        for more in [["--operation", "gemm"], []]:
            rows = self.ask("history", *arguments, *more)["rows"]
            self.assertEqual(len(rows), 1)
            self.assertAlmostEqual(rows[0]["after_ns"] / rows[0]["before_ns"], 1.5, delta=0.02)
            found = self.server.rows(f"SELECT file FROM kymo.traces WHERE trace = {int(rows[0]['trace'], 16)}")
            self.assertRegex(found[0][0], "1-0-[01].json")
        kymo("fleet", "history", *arguments, "--fail-above", "5%", expect=1)
        kymo("fleet", "history", *arguments, "--operation", "ncclDevKernel_AllReduce_Sum", "--fail-above", "5%")

    def test_every_trace_is_there_once(self):
        _, text = kymo("push", self.folder / "0-0-0.json", self.folder / "0-0-1.json", self.all, "--job", "train")
        self.assertIn("2 already there", text)
        self.assertEqual(visible(self.server, "traces"), 48)
        self.assertEqual(visible(self.server, "iterations"), 144)

    def test_the_printed_sql_is_what_is_asked(self):
        for question, since in [("top", "30d"), ("diff", "7d"), ("stragglers", "30d"), ("history", "30d")]:
            sql, _ = kymo("fleet", question, "--db", self.all, "--job", "train", "--since", since, "--sql")
            self.assertTrue(self.server.query(sql + " FORMAT TabSeparated"))

    def test_bad_questions(self):
        for arguments, word in [(["what"], "not one of jobs, top, diff, stragglers, history"), ([], "no question"), (["top", "--since", "0d"], "time"),
                                (["top", "--since", "x"], "x"), (["top", "--operation", "a"], "history"),
                                (["diff", "--fail-above", "5"], "unit"), (["top", "--limit", "0"], "0")]:
            _, text = kymo("fleet", *arguments, "--db", self.all, expect=2)
            self.assertIn(word, text)
        _, text = kymo("fleet", "top", expect=2)
        self.assertIn("--db", text)
        _, text = kymo("fleet", "top", "--db", self.all, "--job", "absent", expect=3)
        self.assertIn("no traces of job 'absent'", text)
        _, text = kymo("fleet", "top", "--db", self.server.url("nothing"), expect=2)
        self.assertRegex(text, "/nothing has no tables of Kymo: 'kymo push FILE... clickhouse://.*/nothing' makes them")

    def test_watch_pushes_and_deletes_only_what_it_pushed(self):
        folder = self.folder / "arriving"
        folder.mkdir()
        url = self.server.url("watched")
        [port] = clickhouse.free_ports(1)
        kymo("import", self.folder / "0-0-0.json", "-o", folder / "a.kymo")
        (folder / "bad.kymo").write_bytes(b"nonsense")
        watch = subprocess.Popen([clickhouse.KYMO, "watch", folder, "--push", url, "--keep", "1B", "--every", "200ms",
                                  "--metrics", f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: not (folder / "a.kymo").exists(), "a.kymo is removed")
            temporary = self.folder / "b.kymo"
            kymo("import", self.folder / "0-1-0.json", "-o", temporary)
            temporary.rename(folder / "b.kymo")
            wait_until(lambda: not (folder / "b.kymo").exists(), "b.kymo is removed")
            self.assertEqual(visible(self.server, "traces", "watched", "count(DISTINCT trace)"), 2)
            self.assertTrue((folder / "bad.kymo").exists())
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=600).read().decode()
            self.assertIn("kymo_watch_pushed_total 2", text)
            self.assertIn("kymo_watch_refused_total 1", text)
        finally:
            watch.send_signal(signal.SIGTERM)
            _, text = watch.communicate(timeout=600)
        self.assertEqual(watch.returncode, 0, text)
        self.assertIn("bad.kymo", text)

    def test_watch_deletes_nothing_without_a_server(self):
        folder = self.folder / "stuck"
        folder.mkdir()
        kymo("import", self.folder / "0-0-0.json", "-o", folder / "a.kymo")
        [port] = clickhouse.free_ports(1)
        _, text = kymo("watch", folder, "--push", f"clickhouse://127.0.0.1:{port}/x", "--keep", "1B", "--keep-for", "1s",
                       "--once", expect=1)
        self.assertIn("cannot connect", text)
        self.assertTrue((folder / "a.kymo").exists())
        kymo("watch", folder, "--push", self.server.url("late"), "--keep", "1B", "--once")
        self.assertFalse((folder / "a.kymo").exists())
        for arguments, word in [(["absent"], "absent"), ([folder, "--metrics", "0.0.0.0:1"], "only this machine")]:
            _, text = kymo("watch", *arguments, "--push", self.all, "--once", expect=None)
            self.assertIn(word, text)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    unittest.main(verbosity=2)
