#!/usr/bin/env python3
"""`kymo fleet` and `kymo watch` with real ClickHouse servers: one, and two with a Distributed view."""
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
        ports = clickhouse.free_ports(4)
        tcp = [ports[1], ports[3]]
        cls.servers = [clickhouse.Server(cls.folder / f"s{i}", ports[2 * i:2 * i + 2], tcp) for i in range(2)]
        for server in cls.servers:
            server.start()
        now = int(time.time() * 1e6)
        # Twelve recordings in each of two weeks. In the second week everything on the device is slower.
        for week in range(2):
            for sample in range(12):
                begin = now - (13 - 7 * week) * DAY_US + sample * DAY_US // 4
                for rank in range(2):
                    file = write_trace(cls.folder / f"{week}-{sample}-{rank}.json", at_us=begin, names=3, steps=3,
                                       scale=(1.5 if week else 1.0) * (1 + sample * 5 % 12 / 1000),
                                       first_step=1 + 1000 * week + 10 * sample, slow_collective=rank == 1, ranks=2)
                    # The ranks are on different servers.
                    kymo("push", file, cls.servers[rank].url(), "--job", "train", "--rank", rank, "-q")
        cls.one, cls.all = cls.servers[0].url(), cls.servers[0].url(cluster=True)
        cls.servers[1].create_distributed()
        cls.distributed = cls.servers[1].url("everywhere")
        cls.filled = cls.all

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            server.kill()
        cls.temporary.cleanup()

    def setUp(self):
        self.database = "d" + self.id().rsplit(".", 1)[-1]
        kymo("push", self.folder / "0-0-0.json", self.servers[1].url(self.database), "-q", "--job", "elsewhere")
        self.url = self.servers[0].url(self.database, cluster=True)

    def make_old(self):
        self.servers[0].query(f"DROP TABLE {self.database}.collective_calls")

    def make_newer(self):
        self.servers[1].query(f"INSERT INTO {self.database}.kymo_schema (version, attempt) VALUES (99, 0)")

    def ask(self, *arguments, expect=0):
        return json.loads(kymo("fleet", *arguments, "--json", expect=expect)[0])

    def test_top_adds_up_over_both_servers(self):
        for url, traces in [(self.one, 24), (self.all, 48), (self.distributed, 48)]:
            rows = {row["name"]: row for row in self.ask("top", "--db", url, "--job", "train", "--since", "30d")["rows"]}
            self.assertEqual(rows["gemm"]["traces"], traces)
            self.assertEqual(rows["gemm"]["calls"], 3 * traces)
        text, _ = kymo("fleet", "top", "--db", self.all, "--job", "train", "--since", "30d", "--limit", 2)
        self.assertEqual(len(text.splitlines()), 3)

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
        # One server has one rank only.
        _, text = kymo("fleet", "stragglers", "--db", self.one, "--job", "train", "--since", "30d", expect=3)
        self.assertIn("no trace of rank 1 of process group '0 [0, 1]'", text)
        self.assertIn("no call of a collective can be compared", text)

    def test_history_has_the_change_and_a_trace_that_shows_it(self):
        arguments = ["--db", self.all, "--job", "train", "--since", "30d"]
        for more in [["--operation", "gemm"], []]:
            rows = self.ask("history", *arguments, *more)["rows"]
            self.assertEqual(len(rows), 1)
            self.assertAlmostEqual(rows[0]["after_ns"] / rows[0]["before_ns"], 1.5, delta=0.02)
            found = [row for server in self.servers
                     for row in server.rows(f"SELECT file FROM kymo.traces WHERE trace = {int(rows[0]['trace'], 16)}")]
            self.assertRegex(found[0][0], "1-0-[01].json")
        kymo("fleet", "history", *arguments, "--fail-above", "5%", expect=1)
        kymo("fleet", "history", *arguments, "--operation", "ncclDevKernel_AllReduce_Sum", "--fail-above", "5%")

    def test_distributed_tables_give_the_answers_of_the_cluster(self):
        for question, since in [("top", "30d"), ("diff", "7d"), ("stragglers", "30d"), ("history", "30d")]:
            answers = [self.ask(question, "--db", url, "--job", "train", "--since", since)["rows"]
                       for url in [self.all, self.distributed]]
            for row in answers[0] + answers[1]:
                row.pop("slowest_trace", None)  # several are equally slow
                row.pop("trace", None)
                row.pop("slowest_rank", None)
                row.pop("worst_trace", None)
                row.pop("worst_iteration", None)
            self.assertEqual(answers[0], answers[1], question)
            self.assertTrue(answers[0], question)
        # A push goes to one server, and asks all whether they have the trace.
        _, text = kymo("push", self.folder / "0-0-0.json", self.folder / "0-0-1.json", self.all, "--job", "train")
        self.assertIn("2 already there", text)
        # A view of all servers is not a place to push to.
        _, text = kymo("push", self.folder / "0-0-0.json", self.distributed, "--job", "other", expect=1)
        self.assertIn("Distributed", text)

    def test_the_printed_sql_is_what_is_asked(self):
        for question, since in [("top", "30d"), ("diff", "7d"), ("stragglers", "30d"), ("history", "30d")]:
            sql, _ = kymo("fleet", question, "--db", self.all, "--job", "train", "--since", since, "--sql")
            self.assertTrue(self.servers[0].query(sql + " FORMAT TabSeparated"))

    def test_a_missing_server_of_the_cluster_is_an_error_and_not_a_part(self):
        ports = clickhouse.free_ports(3)
        with clickhouse.Server(self.folder / "lonely", ports[:2], [ports[1], ports[2]]) as server:
            kymo("push", self.folder / "0-0-0.json", server.url(), "--job", "train")
            kymo("fleet", "top", "--db", server.url(), "--job", "train", "--since", "30d")
            kymo("fleet", "top", "--db", server.url(cluster=True), "--job", "train", "--since", "30d", expect=2)

    def test_bad_questions(self):
        for arguments, word in [(["what"], "not a question"), ([], "no question"), (["top", "--since", "0d"], "time"),
                                (["top", "--since", "x"], "x"), (["top", "--operation", "a"], "history"),
                                (["diff", "--fail-above", "5"], "unit"), (["top", "--limit", "0"], "0")]:
            _, text = kymo("fleet", *arguments, "--db", self.one, expect=2)
            self.assertIn(word, text)
        _, text = kymo("fleet", "top", expect=2)
        self.assertIn("--db", text)
        _, text = kymo("fleet", "top", "--db", self.one, "--job", "absent", expect=3)
        self.assertIn("no traces of job 'absent'", text)
        _, text = kymo("fleet", "top", "--db", self.servers[0].url("nothing"), expect=2)
        self.assertRegex(text, "/nothing has no table kymo_schema: 'kymo push FILE... clickhouse://.*/nothing' makes the tables")

    def test_a_dropped_table_is_named_with_what_to_do(self):
        file = self.folder / "0-0-0.json"
        for url, server, where, place in [(self.servers[1].url(self.database), self.servers[1], "", "there"),
                                          (self.url, self.servers[0], " on 1 of 2 servers", "to each server")]:
            kymo("push", file, server.url(self.database), "--job", "elsewhere", "-q")
            for table in ["traces", "iterations", "operations", "row_counts"]:
                server.query(f"DROP TABLE {self.database}.{table}")
                for question in ["top", "history", "stragglers"]:
                    _, text = kymo("fleet", question, "--db", url, expect=2)
                    self.assertIn(f"has no table {table}{where}: it was dropped, and its rows are lost; 'kymo push' of the "
                                  f"traces {place} makes it and writes them again", text)
                kymo("push", file, server.url(self.database), "-q")
                kymo("fleet", "top", "--db", url, "--since", "30d")

    def test_a_table_that_another_server_lost_is_not_waited_for(self):
        file = self.folder / "0-0-0.json"
        for server in self.servers:
            kymo("push", file, server.url(self.database), "--job", "elsewhere", "-q")
        self.servers[1].query(f"DROP TABLE {self.database}.operations")
        _, text = kymo("push", file, self.url, "--job", "again", expect=1)
        self.assertIn("There is no table", text)
        self.assertIn("'kymo push' to the address of the server that lacks the table, without ?cluster=, makes it", text)
        self.assertNotIn("retr", text)
        kymo("push", file, self.servers[1].url(self.database), "-q")
        kymo("push", file, self.url, "--job", "again", "-q")

    def test_watch_pushes_and_deletes_only_what_it_pushed(self):
        folder = self.folder / "arriving"
        folder.mkdir()
        url = self.servers[0].url("watched")
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
            self.assertEqual(visible(self.servers[0], "traces", "watched", "count(DISTINCT trace)"), 2)
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
        kymo("watch", folder, "--push", self.servers[0].url("late"), "--keep", "1B", "--once")
        self.assertFalse((folder / "a.kymo").exists())
        for arguments, word in [(["absent"], "absent"), ([folder, "--metrics", "0.0.0.0:1"], "only this machine")]:
            _, text = kymo("watch", *arguments, "--push", self.one, "--once", expect=None)
            self.assertIn(word, text)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    unittest.main(verbosity=2)
