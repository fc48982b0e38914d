#!/usr/bin/env python3
"""A folder of Parquet files that cannot be written for a while: no trace is blamed, nothing is left behind, and the
message says what to do."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402
from waiting import LIMIT_SECONDS, wait_until  # noqa: E402

DAY_BEGIN_US = 1_700_006_400_000_000
DAY_US = 86_400_000_000


class FolderErrorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-errors-")
        cls.folder = pathlib.Path(cls.temporary.name)
        # Three traces, of two days: A, B, A. Watch pushes the oldest file first.
        cls.watched = cls.folder / "in"
        cls.watched.mkdir()
        cls.traces = [cls.watched / f"m{i}.kymo" for i in range(3)]
        for i, trace in enumerate(cls.traces):
            file = write_trace(cls.folder / f"m{i}.json", at_us=DAY_BEGIN_US + i * 1_000_000 + i % 2 * DAY_US, names=3,
                               steps=3)
            kymo("import", file, "-o", trace)
            os.utime(trace, (1_600_000_000 + i, 1_600_000_000 + i))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.path = self.folder / self.id().rsplit(".", 1)[-1]
        self.url = f"parquet:{self.path}"

    def test_an_answer_during_pushes_has_each_trace_once(self):
        files = [write_trace(self.folder / f"at_once{i}.json", at_us=DAY_BEGIN_US + i * 60_000_000, rank=i, names=3, steps=3)
                 for i in range(160)]
        kymo("push", *files, self.url, "--job", "train", "-q")
        questions = 0
        push = subprocess.Popen([clickhouse.KYMO, "push", *files, self.url, "-q"])
        while push.poll() is None or questions < 3:
            text, errors = kymo("fleet", "top", "--db", self.url, "--since", "5000d", "--json")
            self.assertEqual(errors, "")
            self.assertEqual({row["traces"] for row in json.loads(text)["rows"]}, {len(files)})
            questions += 1
        self.assertEqual(push.returncode, 0)

    def make_read_only(self):
        """A store that takes no new files."""
        kymo("push", write_trace(self.folder / "other.json"), self.url, "--job", "other", "-q")
        self.part = self.path / "unfinished"
        self.part.chmod(0o555)
        self.addCleanup(self.part.chmod, 0o755)

    def push(self, *traces, expect=0):
        return kymo("push", *traces, self.url, "--job", "train", expect=expect, prefix=clickhouse.AS_OTHERS)[1]

    def traces_of_operations(self):
        text, _ = kymo("fleet", "top", "--db", self.url, "--job", "train", "--since", "5000d", "--json")
        return {row["traces"] for row in json.loads(text)["rows"]}

    def test_push_does_not_blame_a_trace(self):
        self.make_read_only()
        text = self.push(*self.traces, expect=1)
        self.assertIn("unfinished", text)
        self.assertNotIn(".kymo", text)
        self.assertIn("run the same command again to push the rest", text)

    def test_a_failed_push_leaves_no_files(self):
        self.make_read_only()
        for folder in [self.part, self.path / "kymo-8"]:  # where files are written, and where they become visible
            self.part.chmod(0o755)
            folder.chmod(0o555)
            before = sorted(self.path.rglob("*"))
            self.push(*self.traces, expect=1)
            self.assertEqual(sorted(self.path.rglob("*")), before)
            folder.chmod(0o755)
        self.push(*self.traces)
        self.assertEqual(self.traces_of_operations(), {3})

    def test_a_part_that_may_not_be_read_is_not_left_out(self):
        kymo("push", *self.traces, self.url, "--job", "train", "-q")
        self.path.chmod(0o755)
        for hidden in [next((self.path / "kymo-8").glob("2*")), self.path / "kymo-8"]:
            mode = hidden.stat().st_mode
            hidden.chmod(0)
            text = kymo("fleet", "top", "--db", self.url, "--since", "5000d", expect=2, prefix=clickhouse.AS_OTHERS)[1]
            self.assertIn(f"cannot read {hidden}: Permission denied", text)
            hidden.chmod(mode)

    def test_watch_pushes_all_traces_when_the_folder_can_be_written_again(self):
        self.make_read_only()
        said = self.folder / "said"
        with open(said, "w") as errors:
            watch = subprocess.Popen([*clickhouse.AS_OTHERS, clickhouse.KYMO, "watch", self.watched, "--push", self.url,
                                      "--job", "train", "--every", "100ms"], stderr=errors)
        try:
            wait_until(lambda: "cannot make" in said.read_text(), "watch reports the error", said.read_text)
            self.part.chmod(0o755)
            wait_until(lambda: "pushed" in said.read_text(), "watch pushes", said.read_text)
        finally:
            watch.terminate()
            watch.wait(timeout=LIMIT_SECONDS)
        self.assertEqual(said.read_text().count("kymo: pushed "), 3)
        self.assertNotIn(".kymo: cannot make", said.read_text())
        self.assertEqual(self.traces_of_operations(), {3})

if __name__ == "__main__":
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
