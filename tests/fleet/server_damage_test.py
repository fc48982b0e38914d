#!/usr/bin/env python3
"""A ClickHouse server that cannot read its rows, has them twice, or has only some: a trace counts as pushed only if all of
its rows can be read, and no row counts twice."""
import json
import pathlib
import shutil
import sys
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo  # noqa: E402
from pushed_traces import STEPS, PushedTraces  # noqa: E402
from waiting import wait_until  # noqa: E402


class ServerDamageTest(PushedTraces):
    def setUp(self):
        super().setUp()
        self.watched = self.folder / self.database / "in"
        self.watched.mkdir(parents=True)
        for trace in self.traces:
            shutil.copy(trace, self.watched)

    def push(self, *more, expect=0):
        return kymo("push", *self.traces, self.url, "--job", "train", *more, expect=expect)[1]

    def calls(self):
        text, _ = kymo("fleet", "top", "--db", self.url, "--since", "5000d", "--json")
        return {row["name"]: (row["calls"], row["traces"]) for row in json.loads(text)["rows"]}["gemm"]

    def damage(self, table, *columns):
        """Overwrites the values of columns in all parts that there are now. Returns the parts."""
        parts = [part for [part] in self.server.rows(f"SELECT name FROM system.parts WHERE active AND database = "
                                                     f"'{self.database}' AND table = '{table}'")]
        for part in parts:
            for column in columns:
                file = self.server.folder / "data" / "data" / self.database / table / part / f"{column}.bin"
                content = file.read_bytes()
                file.write_bytes(content[:-8] + bytes(byte ^ 0xFF for byte in content[-8:]))
        return parts

    def detach(self, table, parts):
        for part in parts:
            self.server.query(f"DETACH TABLE {self.database}.{table}")
            shutil.rmtree(self.server.folder / "data" / "data" / self.database / table / part)
            self.server.query(f"ATTACH TABLE {self.database}.{table}")

    def test_a_trace_whose_rows_cannot_be_read_is_pushed_again(self):
        for table, column in [("operations", "self_ns"), ("device_time", "part"), ("iterations", "wall_ns"),
                              ("collective_calls", "process_group"), ("row_counts", "row_count")]:
            with self.subTest(table):
                self.push()
                self.assertIn("4 already there", self.push())
                parts = self.damage(table, column)
                text = self.push()
                self.assertEqual(text.count("is pushed again, because its rows cannot be read any more: "), 4, text)
                self.assertIn("4 traces pushed", text)
                self.assertIn("4 already there", self.push())
                self.detach(table, parts)
                self.assertEqual(self.calls(), (4 * STEPS, 4))

    def test_watch_deletes_no_trace_whose_rows_cannot_be_read(self):
        self.push()
        parts = self.damage("operations", "self_ns")
        _, text = kymo("watch", self.watched, "--push", self.url, "--once", "--keep", "1B")
        self.assertEqual(text.count("is pushed again"), 4, text)
        self.assertEqual(list(self.watched.iterdir()), [])
        self.detach("operations", parts)
        self.assertEqual(self.calls(), (4 * STEPS, 4))

    def test_a_server_that_stays_damaged_is_reported_and_nothing_is_deleted(self):
        self.push()
        parts = self.damage("operations", "trace", "attempt", "name")
        text = self.push(expect=1)
        self.assertEqual(text.count("was pushed again, and its rows still cannot be read"), 4, text)
        self.assertNotIn("already there", text)
        watch = ["watch", self.watched, "--push", self.url, "--keep", "1B"]
        _, text = kymo(*watch, "--once", expect=1)
        self.assertEqual(text.count("it is not deleted: repair the database"), 4, text)
        self.assertEqual(len(list(self.watched.iterdir())), 4)
        self.detach("operations", parts)
        kymo(*watch, "--once")
        self.assertEqual(list(self.watched.iterdir()), [])
        self.assertEqual(self.calls(), (4 * STEPS, 4))

    def test_doubled_rows_do_not_count_and_are_named(self):
        self.push()
        for table, question in [("operations", "top"), ("iterations", "history"), ("collective_calls", "stragglers")]:
            with self.subTest(table):
                # Of one trace, as from a backup that is restored beside what is there.
                [trace] = min(self.server.rows(f"SELECT DISTINCT trace FROM {self.database}.traces"))
                where = f"trace = {trace} AND attempt = (SELECT max(attempt) FROM {self.database}.traces WHERE trace = {trace})"
                self.server.query(f"INSERT INTO {self.database}.{table} SELECT * FROM {self.database}.{table} WHERE {where}")
                _, text = kymo("fleet", question, "--db", self.url, "--since", "5000d", expect=None)
                self.assertRegex(text, f"not counted: 0x{int(trace):016x} .*; some of their rows are doubled")
                self.assertNotIn("missing", text)
                if table == "operations":
                    self.assertEqual(self.calls(), (3 * STEPS, 3))
                self.assertIn("1 trace pushed", self.push())
                self.assertEqual(kymo("fleet", "top", "--db", self.url, "--since", "5000d")[1], "")
                self.assertEqual(self.calls(), (4 * STEPS, 4))

    def test_too_many_doubled_traces_are_an_error(self):
        self.push()
        numbers = ", ".join(trace for [trace] in self.server.rows(f"SELECT trace FROM {self.database}.traces"))
        for table in ["traces", "operations", "iterations", "row_counts"]:
            columns = [name for [name] in self.server.rows(
                f"SELECT name FROM system.columns WHERE database = '{self.database}' AND table = '{table}'")]
            values = ", ".join("trace + more" if name == "trace" else name for name in columns)
            for _ in range(2 if table == "operations" else 1):
                self.server.query(f"INSERT INTO {self.database}.{table} ({', '.join(columns)}) SELECT {values} FROM "
                                  f"{self.database}.{table} ARRAY JOIN range(300) AS more WHERE more > 0 AND trace IN ({numbers})")
        _, text = kymo("fleet", "top", "--db", self.url, "--since", "5000d", expect=2)
        self.assertRegex(text, "has 1[0-9]+ traces twice, which are more than can be left out")

    def test_a_part_of_a_recording_does_not_count_beside_the_whole(self):
        clickhouse.check_parts(self, self.url, self.folder)

    def test_a_trace_is_removed(self):
        clickhouse.check_removal(self, self.traces, self.url)
        self.assertEqual(clickhouse.visible(self.server, "traces", self.database), 4)

    def change(self, table, how):
        self.server.query(f"ALTER TABLE {self.database}.{table} {how}")
        pending = f"SELECT count() FROM system.mutations WHERE database = '{self.database}' AND is_done = 0"
        wait_until(lambda: int(self.server.query(pending)) == 0, f"the server changes {table}")

    def test_the_lost_mark_of_a_relabel_is_said_and_repaired(self):
        def lose_newest_mark():
            [newest] = max(self.server.rows(f"SELECT max(attempt) FROM {self.database}.traces"))
            self.change("traces", f"DELETE WHERE attempt = {newest}")

        def make_older():
            for [table] in self.server.rows(f"SELECT name FROM system.tables WHERE database = '{self.database}'"):
                self.change(table, f"UPDATE attempt = attempt - {3_600_000 << 22} WHERE 1")

        clickhouse.check_lost_relabel(self, self.traces[0], self.url, lose_newest_mark, make_older)
        # Nothing is left after a removal.
        self.assertIn("1 trace removed", kymo("push", "--remove", self.traces[0], self.url)[1])
        _, said = kymo("fleet", "top", "--db", self.url, "--since", "5000d", expect=3)
        self.assertNotIn("commit mark", said)

    def test_rows_without_any_mark_are_removed(self):
        self.push()
        self.change("traces", "DELETE WHERE 1")
        for [table] in self.server.rows(f"SELECT name FROM system.tables WHERE database = '{self.database}'"):
            self.change(table, f"UPDATE attempt = attempt - {3_600_000 << 22} WHERE 1")
        self.assertIn("4 traces without a commit mark", kymo("fleet", "top", "--db", self.url, "--since", "5000d", expect=3)[1])
        self.assertIn("4 traces removed", kymo("push", "--remove", *self.traces, self.url)[1])
        self.assertNotIn("commit mark", kymo("fleet", "top", "--db", self.url, "--since", "5000d", expect=3)[1])

    def test_top_says_that_device_time_lost_rows(self):
        def said():
            return kymo("fleet", "top", "--db", self.url, "--since", "5000d")[1]

        self.push()
        self.assertEqual(said(), "")
        self.change("device_time", "DELETE WHERE rank = 2")
        self.assertRegex(said(), r"work on devices is outside of iterations is not known for 0x[0-9a-f]{16} \(\S*rank2.kymo\); some "
                                 "of their rows in device_time of .* are missing or doubled: push these traces again")
        self.assertEqual(self.calls(), (4 * STEPS, 4))
        self.assertIn("1 trace pushed", self.push())
        self.assertEqual(said(), "")
        self.server.query(f"DROP TABLE {self.database}.device_time")
        self.assertRegex(said(), "outside of iterations cannot be read: .* has no table device_time: 'kymo push' of the traces")
        self.assertIn("4 traces pushed", self.push())
        self.assertEqual(said(), "")

    def test_of_two_pushes_with_different_jobs_one_has_all_traces(self):
        clickhouse.check_conflict(self, self.folder, self.url)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    unittest.main(verbosity=2)
