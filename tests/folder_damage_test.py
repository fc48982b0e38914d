#!/usr/bin/env python3
"""A folder of Parquet files that has other content than was written: a trace counts as pushed only if all of its rows can
be read, no row counts twice, and what is missing is named."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

MID_MONTH_US = 1_700_000_000_000_000
STEPS, TRACES = 3, 3
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
        """One bit of the values, so that the description of the columns stays: most readers do not notice it. The marks
        have no hash: only what the format shows is found."""
        content = bytearray(file.read_bytes())
        if file.parent.name == "traces":
            content[4:len(content) // 3] = b"\xff" * (len(content) // 3 - 4)
        else:
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
                text = self.push("--events", expect=None)
                if table == "traces":  # without the marks nothing is known
                    self.assertIn(f"{damaged} is damaged: delete it", text)
                    self.assertNotIn("already there", text)
                else:
                    self.assertIn(f"because its rows cannot be read any more: {damaged} is damaged: delete it", text)
                    self.assertIn("1 trace pushed", text)  # events: one attempt for each trace
                damaged.unlink()
                self.push("--events")
                self.assertEqual(self.ask(), "")
                self.assertEqual(self.calls(), (TRACES * STEPS, TRACES))

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


if __name__ == "__main__":
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
