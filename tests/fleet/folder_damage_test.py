#!/usr/bin/env python3
"""A folder of Parquet files that has other content than was written: a trace counts as pushed only if all of its rows can
be read, no row counts twice, and what is missing is named."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

MID_MONTH_US = 1_700_000_000_000_000
STEPS, TRACES = 3, 3
ROUNDS = int(os.environ.get("KYMO_PUSH_ROUNDS", "3"))
DATA_TABLES = ["iterations", "operations", "device_time", "collective_calls", "events", "row_counts", "traces"]


class FolderDamageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-damage-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.originals = []
        for i in range(TRACES):
            file = write_trace(cls.folder / f"t{i}.json", at_us=MID_MONTH_US + i * 1_000_000, names=40, steps=STEPS, rank=i)
            cls.originals.append(cls.folder / f"t{i}.kymo")
            kymo("import", file, "-o", cls.originals[-1])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        own = self.folder / self.id().rsplit(".", 1)[-1]
        self.path, self.watched = own / "store", own / "in"
        self.watched.mkdir(parents=True)
        self.traces = [shutil.copy(trace, self.watched) for trace in self.originals]
        self.url = f"parquet:{self.path}"

    def push(self, *more, expect=0):
        return kymo("push", *self.traces, self.url, "--job", "train", *more, expect=expect)[1]

    def ask(self, question="top", expect=0):
        return kymo("fleet", question, "--db", self.url, "--since", "5000d", expect=expect)[1]

    def calls(self):
        text, _ = kymo("fleet", "top", "--db", self.url, "--since", "5000d", "--json")
        return {row["name"]: (row["calls"], row["traces"]) for row in json.loads(text)["rows"]}["gemm"]

    def file_of(self, table):
        return max(self.path.glob(f"{table}/2*.parquet"))

    def damage(self, file):
        """One bit of the values, so that the description of the columns stays: most readers do not notice it."""
        content = bytearray(file.read_bytes())
        content[len(content) // 8] ^= 0x10
        file.write_bytes(content)

    def test_a_trace_with_a_damaged_file_is_pushed_again(self):
        for table in DATA_TABLES:
            with self.subTest(table):
                shutil.rmtree(self.path, ignore_errors=True)
                self.push("--events")
                self.assertIn(f"{TRACES} already there", self.push("--events"))
                damaged = self.file_of(table)
                self.damage(damaged)
                if table == "traces":  # which traces these are may be damaged too
                    self.assertRegex(self.ask(), f"not counted: .*(job train).*{damaged} is damaged: push these traces again")
                text = self.push("--events")
                if table != "traces":
                    self.assertIn(f"because its rows cannot be read any more: {damaged} is damaged: delete it", text)
                self.assertRegex(text, f"1 trace pushed .*, {TRACES - 1} already there")  # events: one attempt for each trace
                damaged.unlink()
                self.push("--events")
                self.assertEqual(self.ask(), "")
                self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))

    def test_a_mark_without_a_hash_is_read(self):
        """As an older version wrote it."""
        self.push()
        counts = self.file_of("row_counts")
        clickhouse.run_duckdb(f"COPY (SELECT * FROM read_parquet('{counts}') WHERE of_table NOT LIKE 'traces/%') TO '{counts}' "
                              "(FORMAT parquet)")
        self.assertEqual(self.ask(), "")
        self.assertIn(f"{TRACES} already there", self.push())

    def test_watch_deletes_no_trace_whose_rows_cannot_be_read(self):
        self.push()
        self.damage(self.file_of("operations"))
        before = {file.name for file in self.path.glob("operations/2*")}
        _, text = kymo("watch", self.watched, "--push", self.url, "--once", "--keep", "1B")
        self.assertEqual(text.count("is pushed again, because its rows cannot be read any more"), TRACES)
        self.assertEqual(list(self.watched.iterdir()), [])
        for name in before:
            (self.path / "operations" / name).unlink()
        self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))

    def test_a_trace_of_a_version_without_hashes_is_read(self):
        self.push()
        counts = self.file_of("row_counts")
        clickhouse.run_duckdb(f"COPY (SELECT * FROM read_parquet('{counts}') WHERE trace != 0) TO '{counts}' (FORMAT parquet)")
        self.assertIn(f"{TRACES} already there", self.push())
        damaged = self.file_of("operations")
        content = damaged.read_bytes()
        damaged.write_bytes(content[:100] + b"\xff" * (len(content) // 2) + content[100 + len(content) // 2:])
        self.assertIn(f"{damaged} is damaged: delete it", self.push())
        damaged.unlink()
        self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))

    def replace(self, file, how):
        if how == "empty":
            shutil.copy(self.path / file.parent.name / "empty.parquet", file)
        else:
            file.unlink()
            file.mkdir() if how == "folder" else file.symlink_to("/nowhere")

    def test_a_file_that_was_replaced_by_something_without_rows_is_named_and_pushed_again(self):
        self.push()
        empties = self.folder / "empties"
        shutil.copytree(self.path, empties, ignore=shutil.ignore_patterns("2*"))
        for table in [name for name in DATA_TABLES if name != "events"]:
            for how in ["empty", "folder", "dead link"] if table in ["operations", "traces"] else ["empty"]:
                with self.subTest(f"{table} {how}"):
                    shutil.rmtree(self.path)
                    self.push()
                    shutil.copytree(empties, self.path, dirs_exist_ok=True)
                    file = self.file_of(table)
                    self.replace(file, how)
                    text = self.ask(expect=None)
                    if table == "traces":
                        self.assertIn(f"{file} is damaged: push these traces again" if how == "empty" else
                                      f"rows of {TRACES} traces without a commit mark", text)
                        self.assertEqual(text.count("(job train)"), TRACES)
                    else:
                        self.assertEqual(text.count(".kymo"), TRACES, text)
                        self.assertIn(f"{file.name} " if how == "empty" else f"{file.name} of {self.path} is missing", text)
                        self.assertIn("push these traces again", text)
                    if how == "empty" and table not in ["row_counts", "traces"]:
                        self.assertRegex(text, "has 0 rows instead of [1-9]")
                    self.assertIn(f"{TRACES} traces pushed", self.push())
                    if table == "traces" and how == "empty":
                        self.assertIn(f"{file} is damaged, and no trace needs it: delete it", self.ask())
                        file.unlink()
                    self.assertEqual(self.ask(), "")
                    self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))

    def test_traces_that_lost_their_mark_are_named_and_pushed_again(self):
        for more in [[], ["--events"]]:
            self.push(*more)
            for file in self.path.glob("traces/2*"):
                file.unlink()
            text = self.ask(expect=3)
            self.assertIn(f"not counted: rows of {TRACES} traces without a commit mark in {self.path}/traces (a push in "
                          "progress, or lost files): ", text)
            self.assertEqual(text.count("(job train)"), TRACES)
            self.assertNotIn("has no traces", text)
            kymo("watch", self.watched, "--push", self.url, "--once", *more)
            self.assertEqual(self.ask(), "")
            self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))

    def test_a_damaged_file_of_another_table_is_only_said(self):
        self.push()
        file = self.file_of("device_time")
        file.write_bytes(b"garbage")
        self.assertRegex(self.ask(), f"incomplete: .*t0.kymo.*; {file} is damaged: push these traces again")

    def test_a_part_of_a_recording_does_not_count_beside_the_whole(self):
        clickhouse.check_parts(self, self.url, self.folder)

    def test_a_trace_is_removed(self):
        clickhouse.check_removal(self, self.traces, self.url)

    def test_a_removal_that_is_killed_loses_and_doubles_nothing(self):
        for _ in range(ROUNDS):
            self.push()
            for _ in range(4):
                remover = subprocess.Popen([clickhouse.KYMO, "push", "--remove", self.traces[0], self.url, "-q"])
                time.sleep(random.uniform(0, 0.3))
                remover.kill()
                remover.wait()
                self.assertIn(self.calls(), [(count * STEPS, count) for count in [TRACES, TRACES - 1]])
            kymo("push", "--remove", self.traces[0], self.url)
            self.assertEqual(self.calls(), ((TRACES - 1) * STEPS, TRACES - 1))
            self.assertEqual(self.ask(), "")

    def make_older(self):
        """All attempts are of an hour ago. The hashes of files are left out, as in an older version."""
        for file in list(self.path.glob("*/2*.parquet")):
            month, attempt, number = file.stem.split("-")
            by = 3_600_000 << 22
            older = file.with_name(f"{month}-{int(attempt, 16) - by:016x}-{number}.parquet")
            clickhouse.run_duckdb(f"COPY (SELECT * REPLACE (attempt - {by} AS attempt) FROM read_parquet('{file}')"
                                  f"{' WHERE trace != 0' if file.parent.name == 'row_counts' else ''}) TO '{older}' (FORMAT parquet)")
            file.unlink()

    def test_the_lost_mark_of_a_relabel_is_said_and_repaired(self):
        clickhouse.check_lost_relabel(self, self.traces[0], self.url, lambda: self.file_of("traces").unlink(), self.make_older)

    def test_a_relabel_without_a_mark_is_said_when_a_push_repairs_it(self):
        for job in ["old", "new"]:
            kymo("push", *self.traces, self.url, "--job", job)
        self.file_of("traces").unlink()
        # It looks like a push in progress, and all of the older one counts.
        self.assertEqual(self.ask(), "")
        self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))
        self.make_older()
        said = self.ask()
        self.assertIn(f"not counted: what was pushed last of {TRACES} traces without a commit mark", said)
        self.assertIn("push them again: until then, what was pushed before counts, with the job old", said)
        # A removal takes these rows too, and leaves those of other traces.
        self.assertIn("1 trace removed", kymo("push", "--remove", self.traces[0], self.url)[1])
        self.assertIn(f"not counted: what was pushed last of {TRACES - 1} traces without a commit mark", self.ask())
        self.assertEqual(self.calls(), ((TRACES - 1) * STEPS, TRACES - 1))
        self.assertIn(f"{TRACES - 1} traces pushed", kymo("push", *self.traces[1:], self.url)[1])
        self.assertEqual(self.ask(), "")
        self.assertNotIn("old", kymo("fleet", "diff", "--db", self.url, "--since", "5000d", "--job", "new", expect=None)[1])

    def test_a_push_that_was_killed_before_its_counts_is_not_said(self):
        """No push repairs it, and all of the older one counts."""
        for job in ["old", "new"]:
            kymo("push", *self.traces, self.url, "--job", job)
        for table in ["traces", "row_counts"]:
            self.file_of(table).unlink()
        self.make_older()
        self.assertEqual(self.ask(), "")
        self.assertIn(f"{TRACES} already there", kymo("push", *self.traces, self.url)[1])

    def test_rows_without_any_mark_are_removed(self):
        self.push()
        self.file_of("traces").unlink()
        self.make_older()
        for i, trace in enumerate(self.traces):
            self.assertIn(f"rows of {TRACES - i} trace", self.ask(expect=3))
            self.assertIn("1 trace removed", kymo("push", "--remove", trace, self.url)[1])
        self.assertNotIn("commit mark", self.ask(expect=3))
        self.assertEqual([file for table in DATA_TABLES for file in self.path.glob(f"{table}/2*")], [])

    def test_of_two_pushes_with_different_jobs_one_has_all_traces(self):
        clickhouse.check_conflict(self, self.folder, self.url)


if __name__ == "__main__":
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
