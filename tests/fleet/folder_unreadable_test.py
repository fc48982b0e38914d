#!/usr/bin/env python3
"""A folder of Parquet files with one file that cannot be read: it does not stop pushes, removals, questions or watch, and
what it had is never taken for complete."""
import itertools
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

MID_MONTH_US = 1_700_000_000_000_000
STEPS = 3
DATA_TABLES = ["iterations", "operations", "device_time", "collective_calls", "row_counts"]
DAMAGES = {
    "half of it": lambda content: content[:len(content) // 2],
    "cut in the footer": lambda content: content[:-3],
    "empty": lambda content: b"",
    "garbage": lambda content: b"garbage",
    "values": lambda content: content[:4] + b"\xff" * (len(content) // 3) + content[4 + len(content) // 3:],
}


class FolderUnreadableTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-unreadable-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.originals = []
        for i in range(4):
            file = write_trace(cls.folder / f"t{i}.json", at_us=MID_MONTH_US + i * 1_000_000, names=40, steps=STEPS, rank=i)
            cls.originals.append(cls.folder / f"t{i}.kymo")
            kymo("import", file, "-o", cls.originals[-1])
        # Two attempts: t0 and t1 together, t2 alone. t3 is pushed later.
        cls.template = cls.folder / "template"
        kymo("push", *cls.originals[:2], f"parquet:{cls.template}", "--job", "given")
        cls.first_attempt = max(cls.template.glob("traces/2*")).name.split("-")[1]
        kymo("push", cls.originals[2], f"parquet:{cls.template}", "--job", "given")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.path = self.folder / "store"
        self.url = f"parquet:{self.path}"

    def begin(self):
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.template, self.path)

    def push(self, *traces, expect=0):
        return kymo("push", *traces, self.url, expect=expect)[1]

    def ask(self, question="top"):
        text, said = kymo("fleet", question, "--db", self.url, "--since", "5000d", "--job", "given", "--json", expect=None)
        answer = json.loads(text)
        self.assertNotEqual(answer["exit_code"], 2)
        for note in answer["notes"]:
            self.assertIn(note, said)
        return answer, said

    def gemm(self):
        """How many calls and traces count."""
        return next(((row["calls"], row["traces"]) for row in self.ask()[0]["rows"] if row["name"] == "gemm"), (0, 0))

    def file_of(self, table):
        return next(self.path.glob(f"{table}/*-{self.first_attempt}-*.parquet"))

    def damage(self, table, how):
        """A new store with a damaged file, which has rows of t0 and t1."""
        self.begin()
        file = self.file_of(table)
        file.write_bytes(DAMAGES[how](file.read_bytes()))
        return file

    def check_repaired(self, file, traces):
        """After the affected traces were pushed again."""
        self.assertEqual(self.gemm(), (traces * STEPS, traces))
        for line in self.ask()[1].splitlines():
            self.assertIn(f"{file} is damaged, and no trace needs it: delete it", line)
        file.unlink()
        self.assertEqual(self.ask()[1], "")
        self.assertEqual(self.gemm(), (traces * STEPS, traces))

    def test_questions_name_the_file_and_its_traces(self):
        used = {"top": ["operations", "traces"], "diff": ["operations", "iterations", "traces"],
                "history": ["iterations", "traces"], "stragglers": ["collective_calls", "iterations", "traces"]}
        for table, how in itertools.product([*DATA_TABLES, "traces"], DAMAGES):
            file = self.damage(table, how)
            for question, tables in used.items():
                with self.subTest(f"{table}: {how}: {question}"):
                    answer, said = self.ask(question)
                    if how == "values" and table not in tables:
                        continue  # what is not read may be damaged without notice
                    [line] = [line for line in answer["notes"] if str(file) in line]
                    self.assertIn(f"{file} is damaged: push these traces again", line)
                    self.assertEqual(line.count("(job given)" if table == "traces" else ".kymo)"), 2, said)
                    if table == "operations" and question == "top":
                        self.assertEqual(self.gemm(), (STEPS, 1))

    def test_other_traces_are_pushed_and_removed(self):
        for table, how in itertools.product([*DATA_TABLES, "traces"], ["half of it", "values"]):
            with self.subTest(f"{table}: {how}"):
                file = self.damage(table, how)
                self.assertIn("1 trace pushed", self.push(self.originals[3], "--job", "given"))
                self.assertIn("1 trace removed", kymo("push", "--remove", self.originals[2], self.url)[1])
                text = self.push(*self.originals[:2])
                self.assertIn("2 traces pushed", text)
                self.assertIn(f"{file} is damaged", text)
                self.check_repaired(file, 3)  # with the job that was given

    def test_watch_repairs_before_it_deletes(self):
        for table, how in itertools.product([*DATA_TABLES, "traces"], ["half of it", "values"]):
            with self.subTest(f"{table}: {how}"):
                file = self.damage(table, how)
                watched = self.folder / "in"
                shutil.rmtree(watched, ignore_errors=True)
                watched.mkdir()
                for trace in self.originals[:3]:
                    shutil.copy(trace, watched)
                _, text = kymo("watch", watched, "--push", self.url, "--once", "--keep", "1B")
                self.assertEqual(text.count("is pushed again, because its rows cannot be read any more: "), 2, text)
                self.assertEqual(list(watched.iterdir()), [])
                self.check_repaired(file, 3)

    def test_an_affected_trace_is_removed_and_the_others_stay_incomplete(self):
        for table, how in itertools.product(DATA_TABLES, ["half of it", "values"]):
            with self.subTest(f"{table}: {how}"):
                file = self.damage(table, how)
                self.assertIn("1 trace removed", kymo("push", "--remove", self.originals[0], self.url)[1])
                self.assertRegex(self.ask()[1], "incomplete: .*t1.kymo.*push these traces again")
                self.assertNotIn("t0.kymo", self.ask()[1])
                self.assertFalse(file.exists())
                # Nothing of it was taken for complete.
                self.assertIn("1 trace pushed (", self.push(*self.originals[1:3]))
                self.assertEqual(self.ask()[1], "")
                self.assertEqual(self.gemm(), (2 * STEPS, 2))

    def test_orphans_of_an_attempt_whose_marks_cannot_be_read_stay(self):
        self.begin()
        for file in self.path.glob(f"*/*-{self.first_attempt}-*"):  # as of 2000
            number = int(self.first_attempt, 16) - (26 * 365 * 86_400_000 << 22)
            file.rename(file.with_name(file.name.replace(self.first_attempt, f"{number:016x}")))
        [mark] = self.path.glob(f"traces/*-{number:016x}-*")
        mark.write_bytes(b"garbage")
        before = sorted(self.path.glob("*/2*"))
        kymo("push", "--remove-orphans", self.url)
        self.assertEqual(sorted(self.path.glob("*/2*")), before)

    def test_a_file_without_rows_of_traces_is_written_again(self):
        for table in [*DATA_TABLES, "traces", "memory", "events", "kymo_schema"]:
            for content in [b"", b"garbage"]:
                with self.subTest(f"{table}: {content}"):
                    self.begin()
                    file = min(self.path.glob(f"{table}/*")) if table == "kymo_schema" else self.path / table / "empty.parquet"
                    file.write_bytes(content)
                    self.assertEqual(self.gemm(), (3 * STEPS, 3))
                    self.assertIn(f"{file} is damaged: the next kymo push writes it again", self.ask()[1])
                    self.push(*self.originals)
                    self.assertEqual(self.gemm(), (3 * STEPS, 3))
                    self.assertEqual(self.ask()[1], "")

    def test_a_file_that_may_not_be_read_is_named(self):
        for table in ["operations", "traces"]:
            self.begin()
            file = self.file_of(table)
            file.chmod(0)
            command = ["fleet", "top", "--db", self.url, "--since", "5000d"]
            text = kymo(*command, prefix=clickhouse.AS_OTHERS)[1]
            self.assertIn(f"cannot read {file}: Permission denied: change its mode, or push these traces again", text)
            text = kymo("push", self.originals[3], self.url, "--job", "given", prefix=clickhouse.AS_OTHERS)[1]
            self.assertIn("1 trace pushed", text)
            text = kymo("push", *self.originals[:2], self.url, prefix=clickhouse.AS_OTHERS)[1]
            self.assertIn("2 traces pushed", text)
            file.chmod(0o644)
            self.assertEqual(self.gemm(), (4 * STEPS, 4))


if __name__ == "__main__":
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
