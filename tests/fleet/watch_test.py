#!/usr/bin/env python3
"""`kymo watch`: a trace is pushed once, when it has arrived completely, and is never deleted before the database has it."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, visible, write_trace  # noqa: E402
from waiting import wait_until  # noqa: E402


class WatchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-watch-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.traces = []
        for i in range(3):
            file = write_trace(cls.folder / f"{i}.json", at_us=int(time.time() * 1e6) - i * 60_000_000, steps=3, names=3)
            kymo("import", file, "-o", cls.folder / f"{i}.kymo")
            cls.traces.append(cls.folder / f"{i}.kymo")
        cls.recorded = cls.folder / "recorded.kymo"
        kymo("record", "-o", cls.recorded, "--", clickhouse.BIN / "any_bytes", expect=None)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        own = self.folder / self.id().rsplit(".", 1)[-1]
        self.arriving, self.store = own / "in", own / "store"
        self.arriving.mkdir(parents=True)
        self.url = f"parquet:{self.store}"

    def add(self, trace, name):
        shutil.copyfile(trace, self.arriving / ".copied")
        (self.arriving / ".copied").rename(self.arriving / name)

    def names(self, url=None):
        """How many traces have each operation."""
        text, _ = kymo("fleet", "top", "--db", url or self.url, "--limit", 1000, "--json", expect=None)
        return {row["name"]: row["traces"] for row in json.loads(text).get("rows", [])} if text else {}

    @contextlib.contextmanager
    def watch(self, *options, url=None, said="said"):
        with open(self.arriving.parent / said, "w+") as said:
            watch = subprocess.Popen([clickhouse.KYMO, "watch", self.arriving, "--push", url or self.url, "--every",
                                      "200ms", *map(str, options)], stderr=said)
            try:
                yield
            finally:
                watch.send_signal(signal.SIGTERM)
                code = watch.wait(timeout=600)
                said.seek(0)
                self.said = said.read()
            self.assertEqual(code, 0, self.said)

    def wait_for(self, condition):
        wait_until(condition, "kymo watch does its work", (self.arriving.parent / "said").read_text)

    def remove_store(self):
        """At once: a watch that works fast would put new files into a folder that is being removed."""
        self.store.rename(self.store.with_name("removed"))

    def check_that_nothing_is_lost(self, url, remove):
        """The database loses its rows. The trace is then too much for --keep."""
        one = max(trace.stat().st_size for trace in self.traces)  # there is room for any one of them
        with self.watch("--keep", f"{one}B", url=url):
            self.add(self.traces[0], "a.kymo")
            self.wait_for(lambda: self.names(url).get("gemm") == 1)
            remove()
            self.add(self.traces[1], "b.kymo")
            self.wait_for(lambda: not (self.arriving / "a.kymo").exists())
            self.wait_for(lambda: self.names(url).get("gemm") == 2)
        self.assertTrue((self.arriving / "b.kymo").exists())

    def test_a_trace_that_a_folder_lost_is_pushed_again_before_it_is_deleted(self):
        self.check_that_nothing_is_lost(self.url, self.remove_store)
        # The folder is made again, and one line says what was wrong.
        errors = [line for line in self.said.splitlines() if "pushed" not in line]
        self.assertLessEqual(len(errors), 1, self.said)
        self.assertNotIn("SELECT", self.said)

    @unittest.skipIf(clickhouse.chdb_library() is None, "a recent ClickHouse is not installed (scripts/install-chdb)")
    def test_a_trace_that_a_server_lost_is_pushed_again_before_it_is_deleted(self):
        with clickhouse.Server(self.arriving.parent / "server") as server:
            self.check_that_nothing_is_lost(server.url(), lambda: server.query("DROP DATABASE kymo"))
            self.assertEqual(visible(server, "traces", what="count(DISTINCT trace)"), 2)

    def test_a_file_that_is_half_copied_waits_for_the_rest(self):
        content = self.recorded.read_bytes()
        with self.watch():
            with open(self.arriving / "slow.kymo", "wb", buffering=0) as slow:
                slow.write(content[:len(content) // 2])
                for count, trace in enumerate(self.traces[:2], 1):
                    self.add(trace, f"{count}.kymo")
                    # However long this takes, the copy goes on.
                    self.wait_for(lambda: os.utime(slow.fileno()) or self.names().get("gemm") == count)
                slow.write(content[len(content) // 2:])
            self.wait_for(lambda: "all of them" in self.names())
        self.assertEqual(self.names()["all of them"], 1)
        self.assertEqual(self.said.count("slow.kymo"), 1, self.said)

    def test_once_does_not_push_a_half_copied_file(self):
        content = self.recorded.read_bytes()
        slow = self.arriving / "slow.kymo"
        slow.write_bytes(content[:len(content) // 2])
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once", expect=1)
        self.assertIn("slow.kymo has no end", text)
        slow.write_bytes(content)
        kymo("watch", self.arriving, "--push", self.url, "--once")
        self.assertEqual(self.names()["all of them"], 1)

    def test_once_waits_long_enough_for_any_period(self):
        self.add(self.traces[0], "a.kymo")
        kymo("watch", self.arriving, "--push", self.url, "--once", "--every", "100ms")
        self.assertEqual(self.names()["gemm"], 1)

    def test_two_watches_of_one_folder_push_each_trace_once(self):
        count = 8
        for round_number in range(2):
            with self.watch("--keep", "1B"), self.watch("--keep", "1B", said="said too"):
                for i in range(count):
                    file = write_trace(self.arriving / ".new", rank=i + 100 * round_number, steps=3, names=3,
                                       at_us=int(time.time() * 1e6))
                    os.rename(file, self.arriving / f"{i}.kymo")
                self.wait_for(lambda: not any(self.arriving.glob("*.kymo")))
            said = self.said + (self.arriving.parent / "said too").read_text()
            self.assertEqual([line for line in said.splitlines() if "pushed" not in line], [])
        text, _ = kymo("fleet", "top", "--db", self.url, "--json")
        [gemm] = [row for row in json.loads(text)["rows"] if row["name"] == "gemm"]
        self.assertEqual((gemm["traces"], gemm["calls"]), (2 * count, 2 * count * 3))

    def test_once_succeeds_if_another_watch_deletes_a_file_first(self):
        for i in range(8):
            file = write_trace(self.arriving / ".new", rank=i, steps=30, names=30, at_us=int(time.time() * 1e6))
            os.rename(file, self.arriving / f"{i}.kymo")
        watches = [subprocess.Popen([clickhouse.KYMO, "watch", self.arriving, "--push", self.url, "--once", "--keep", "1B"],
                                    stderr=subprocess.PIPE, text=True) for _ in range(3)]
        said = [watch.communicate(timeout=600)[1] for watch in watches]
        self.assertEqual([watch.returncode for watch in watches], [0, 0, 0], said)
        self.assertEqual(list(self.arriving.iterdir()), [])
        self.assertEqual(self.names()["gemm"], 8)

    def check_that_damaged_traces_stay(self, url):
        self.add(self.traces[0], "damaged.kymo")
        clickhouse.damage_events(self.arriving / "damaged.kymo")
        self.add(self.traces[1], "good.kymo")
        _, text = kymo("watch", self.arriving, "--push", url, "--once", "--keep", "1B")
        self.assertIn("damaged.kymo is damaged", text)
        self.assertIn("in traces that are damaged or not pushed", text)
        self.assertEqual([file.name for file in self.arriving.iterdir()], ["damaged.kymo"])
        # A new process asks the server, which has it.
        kymo("watch", self.arriving, "--push", url, "--once", "--keep", "1B")
        self.assertEqual([file.name for file in self.arriving.iterdir()], ["damaged.kymo"])

    def test_a_trace_of_another_tool_that_was_cut_waits_and_is_not_deleted(self):
        content = (self.folder / "0.json").read_bytes()
        cut = self.arriving / "cut.kymo"
        cut.write_bytes(content[:len(content) // 2])
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once", expect=1)
        self.assertIn("cut.kymo has no end, or is damaged, and changed less than a minute ago", text)
        os.utime(cut, (1_600_000_000, 1_600_000_000))
        for said in ["cut.kymo is damaged: cannot read the end of the file", "in traces that are damaged or not pushed"]:
            _, text = kymo("watch", self.arriving, "--push", self.url, "--once", "--keep", "1B")
            self.assertIn(said, text)
            self.assertTrue(cut.exists())

    def test_a_trace_without_an_end_stays_for_a_day(self):
        content = self.recorded.read_bytes()
        slow = self.arriving / "slow.kymo"
        slow.write_bytes(content[:len(content) // 2])
        os.utime(slow, (1_600_000_000, 1_600_000_000))  # as a copy that keeps the date does
        for said in ["slow.kymo has no end", "whose end is missing (these stay for a day)"]:
            _, text = kymo("watch", self.arriving, "--push", self.url, "--once", "--keep", "1B")
            self.assertIn(said, text)
            self.assertNotIn("deleted slow", text)
            self.assertTrue(slow.exists())
        slow.write_bytes(content)
        kymo("watch", self.arriving, "--push", self.url, "--once", "--keep", "1B")
        self.assertFalse(slow.exists())
        self.assertEqual(self.names()["all of them"], 1)

    def test_a_damaged_trace_is_not_deleted(self):
        self.check_that_damaged_traces_stay(self.url)

    @unittest.skipIf(clickhouse.chdb_library() is None, "a recent ClickHouse is not installed (scripts/install-chdb)")
    def test_a_damaged_trace_on_a_server_is_not_deleted(self):
        with clickhouse.Server(self.arriving.parent / "server") as server:
            self.check_that_damaged_traces_stay(server.url())

    def test_a_size_to_keep_needs_a_unit(self):
        self.add(self.traces[0], "a.kymo")
        for size, why in [("500", "'500' has no unit"), ("0", "would keep nothing"), ("0GB", "would keep nothing")]:
            _, text = kymo("watch", self.arriving, "--push", self.url, "--once", "--keep", size, expect=2)
            self.assertIn(f"{why}", text)
            self.assertIn("write it like 10GB or 500GB", text)
        self.assertTrue((self.arriving / "a.kymo").exists())

    def test_a_folder_that_may_not_be_read_is_named(self):
        self.add(self.traces[0], "a.kymo")
        (self.arriving / "inside").mkdir()
        (self.arriving / "inside").chmod(0)
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once", expect=1, prefix=clickhouse.AS_OTHERS)
        self.assertIn(f"cannot read the folder {self.arriving}/inside", text)
        self.assertEqual(self.names()["gemm"], 1)

    def test_a_watched_folder_that_may_not_be_read_is_an_error(self):
        self.add(self.traces[0], "a.kymo")
        self.arriving.chmod(0)
        for command in [["watch", self.arriving, "--push", self.url, "--once"], ["push", self.arriving, self.url]]:
            _, text = kymo(*command, expect=1, prefix=clickhouse.AS_OTHERS)
            self.assertIn(f"cannot read {self.arriving}: Permission denied", text)
        self.arriving.chmod(0o755)

    def test_push_of_a_folder_takes_what_it_may_read_and_names_the_rest(self):
        self.add(self.traces[0], "a.kymo")
        (self.arriving / "inside").mkdir()
        (self.arriving / "inside").chmod(0)
        _, text = kymo("push", self.arriving, self.url, expect=1, prefix=clickhouse.AS_OTHERS)
        self.assertIn(f"cannot read the folder {self.arriving}/inside: its traces are not pushed", text)
        self.assertIn("1 trace pushed", text)
        self.assertEqual(self.names()["gemm"], 1)

    def test_push_of_a_folder_without_traces_says_so(self):
        _, text = kymo("push", self.arriving, self.url, expect=1)
        self.assertIn(f"no traces in {self.arriving}: no file is named *.kymo, *.json or *.json.gz", text)

    def test_links_are_named_once_and_a_fifo_is_not_read(self):
        self.add(self.traces[0], "a.kymo")
        elsewhere = self.arriving.parent / f"elsewhere-{self.arriving.name}"
        elsewhere.mkdir()
        for name, target in [("latest.kymo", "a.kymo"), ("gone.kymo", "nothing"), ("folder", elsewhere), ("notes.txt", "a.kymo")]:
            (self.arriving / name).symlink_to(target)
        os.mkfifo(self.arriving / "pipe.kymo")
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once")
        for name in ["latest.kymo", "gone.kymo", "folder"]:
            self.assertEqual(text.count(f"{self.arriving}/{name} is a link, which is not followed"), 1, text)
        self.assertNotIn("notes.txt", text)
        self.assertEqual(self.names()["gemm"], 1)

    def test_a_trace_that_may_not_be_deleted_is_named(self):
        self.add(self.traces[0], "a.kymo")
        self.arriving.chmod(0o555)
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once", "--keep", "1B", expect=1,
                       prefix=clickhouse.AS_OTHERS)
        self.assertIn(f"cannot delete {self.arriving}/a.kymo: Permission denied", text)
        self.assertNotIn("not pushed", text)
        self.arriving.chmod(0o755)

    def test_a_trace_of_another_tool_is_named_and_push_takes_a_folder(self):
        write_trace(self.arriving / "a.json", at_us=int(time.time() * 1e6) - 60_000_000, steps=3, names=3)
        self.add(self.traces[0], "b.kymo")
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once")
        self.assertIn("has traces of other tools (*.json), which are not pushed: 'kymo push", text)
        self.assertEqual(self.names()["gemm"], 1)
        _, text = kymo("push", self.arriving, self.url)
        self.assertIn("1 trace pushed", text)
        self.assertEqual(self.names()["gemm"], 2)

    def test_a_merged_file_beside_its_parts_counts_once(self):
        now = int(time.time() * 1e6) - 60_000_000
        files = []
        for rank in range(2):
            json_file = write_trace(self.arriving.parent / f"part{rank}.json", at_us=now + 700_000 * rank, rank=rank, ranks=2)
            files.append(self.arriving / f"part{rank}.kymo")
            kymo("import", json_file, "-o", files[-1])
        kymo("merge", *files, "-o", self.arriving / "merged.kymo")
        kymo("watch", self.arriving, "--push", self.url, "--once")
        text, said = kymo("fleet", "top", "--db", self.url, "--json")
        self.assertEqual({row["name"]: row["traces"] for row in json.loads(text)["rows"]}["gemm"], 2)
        self.assertIn("not counted: 2 traces, because another file of the same recording counts", said)

    def test_once_fails_if_a_file_cannot_be_read(self):
        (self.arriving / "bad.kymo").write_bytes(b"nonsense")
        self.add(self.traces[0], "a.kymo")
        _, text = kymo("watch", self.arriving, "--push", self.url, "--once", expect=1)
        self.assertIn("bad.kymo", text)
        self.assertEqual(self.names()["gemm"], 1)


if __name__ == "__main__":
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
