#!/usr/bin/env python3
"""`kymo push`, `kymo fleet` and `kymo watch` with a folder of Parquet files, which DuckDB writes and reads."""
import json
import os
import pathlib
import shutil
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
import schemas  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

DAY_US = 86_400_000_000
DAY_BEGIN_US = 1_700_006_400_000_000
STEPS, NAMES = 3, 3
ROUNDS = int(os.environ.get("KYMO_PUSH_ROUNDS", "3"))


class FolderTest(same_answers.SameAnswers, same_comparisons.SameComparisons, same_runs.SameRuns, same_selection.SameSelection,
                 unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-folder-")
        cls.folder = pathlib.Path(cls.temporary.name)
        now = int(time.time() * 1e6)
        # Twelve recordings in each of two weeks. In the second week everything on the device is slower.
        cls.files = [[], []]
        for week in range(2):
            for sample in range(12):
                for rank in range(2):
                    cls.files[rank].append(write_trace(
                        cls.folder / f"{week}-{sample}-{rank}.json", names=NAMES, steps=STEPS,
                        at_us=now - (13 - 7 * week) * DAY_US + sample * DAY_US // 4,
                        scale=(1.5 if week else 1.0) * (1 + sample * 5 % 12 / 1000), rank=rank,
                        first_step=1 + 1000 * week + 10 * sample, slow_collective=rank == 1, ranks=2))
        # A push writes one file per table and day.
        cls.of_a_day = [write_trace(cls.folder / f"of-a-day-{i}.json", names=NAMES, steps=STEPS,
                                    at_us=DAY_BEGIN_US + i * 1_000_000) for i in range(4)]
        cls.store = f"parquet:{cls.folder}/it's"
        kymo("push", *cls.files[0], *cls.files[1], cls.store, "--job", "train")
        cls.filled = cls.store

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.path = self.folder / self.id().rsplit(".", 1)[-1]
        self.url = f"parquet:{self.path}"

    def make_newer(self):
        (self.path / "kymo-8").rename(self.path / "kymo-99")

    def ask(self, question, *more, url=None, expect=0):
        since = [] if "--since" in more else ["--since", "30d"]
        answer = json.loads(kymo("fleet", question, "--db", url or self.store, "--job", "train", "--json", *since, *more,
                                 expect=expect)[0])
        schemas.check(f"fleet-{question}", answer)
        return answer

    def gemm(self, url):
        return {row["name"]: row for row in self.ask("top", "--since", "5000d", url=url)["rows"]}["gemm"]

    def test_top_adds_up(self):
        self.assertEqual(self.gemm(self.store)["traces"], 48)
        self.assertEqual(self.gemm(self.store)["calls"], 48 * STEPS)
        self.assertEqual(self.gemm(self.store)["ranks"], 2)

    def test_diff_finds_the_slower_week(self):
        answer = self.ask("diff", "--since", "7d", "--fail-above", "5%", expect=1)
        rows = {row["path"]: row for row in answer["rows"]}
        self.assertEqual(rows["gemm"]["change"], "slower")
        self.assertAlmostEqual(rows["gemm"]["median_b_ns"] / rows["gemm"]["median_a_ns"], 1.5, delta=0.02)
        self.assertEqual(rows["ncclDevKernel_AllReduce_Sum"]["change"], "same")
        self.assertEqual(answer["a"], 12)

    def test_the_straggler_is_the_rank_with_the_shortest_collectives(self):
        [row] = self.ask("stragglers")["rows"]
        self.assertEqual((row["rank"], row["times_last"]), (1, 24 * STEPS))
        self.assertEqual(row["others_waited_ns"], 24 * STEPS * 500_000)
        kymo("fleet", "stragglers", "--db", self.store, "--since", "30d", "--fail-above", "1%", expect=1)

    def test_history_has_the_change_and_a_trace_that_shows_it(self):
        for more in [["--operation", "gemm"], []]:
            [row] = self.ask("history", *more)["rows"]
            self.assertAlmostEqual(row["after_ns"] / row["before_ns"], 1.5, delta=0.02)
            self.assertRegex(row["trace"], "^0x[0-9a-f]{16}$")

    def test_history_of_few_samples_is_exact_and_too_few_are_an_exit_code(self):
        for count, p in [(12, 2 / 924), (10, 2 / 252)]:
            url = f"{self.url}{count}"
            kymo("push", *self.files[0][12 - count // 2:12 + count // 2], url, "--job", "train")
            [row] = self.ask("history", url=url)["rows"]
            self.assertAlmostEqual(row["p"], p, delta=0.002)
            self.assertAlmostEqual(row["after_ns"] / row["before_ns"], 1.5, delta=0.02)
        kymo("push", *self.files[0][8:16], self.url, "--job", "train")
        for more in [[], ["--fail-above", "5%"]]:
            text, errors = kymo("fleet", "history", "--db", self.url, "--since", "30d", *more, expect=3)
            self.assertIn("8 samples", text)
            self.assertIn("too few samples: 8, and a change point needs at least 10", errors)

    def test_traces_without_the_operation_are_not_in_its_history(self):
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"some{i}.json", at_us=now - (i + 1) * 120_000_000, names=3 if i % 2 else 6,
                             steps=STEPS) for i in range(20)]
        kymo("push", *files, self.url, "--job", "train")
        text, _ = kymo("fleet", "history", "--db", self.url, "--operation", "aten::op5")
        self.assertRegex(text, "^10 samples, median 15")
        self.assertIn("no change point", text)

    def test_diff_without_samples_on_a_side_says_so(self):
        kymo("push", *self.files[0][12:], self.url, "--job", "train")
        text, errors = kymo("fleet", "diff", "--db", self.url, "--since", "7d", expect=3)
        self.assertEqual(text, "")
        self.assertRegex(errors, r"nothing to compare: A has 0 samples \(from .* to .*\), B has 12 samples \(from .*\)")
        kymo("push", *self.files[0][:2], self.url, "--job", "train")
        for more in [[], ["--fail-above", "5%"]]:
            text, _ = kymo("fleet", "diff", "--db", self.url, "--since", "7d", *more, expect=3)
            self.assertIn("A: 2 samples, B: 12 samples", text)
            self.assertIn("too few samples", text)

    def test_traces_that_name_no_job_can_be_asked_for(self):
        kymo("push", self.files[0][0], self.url)
        kymo("push", self.files[0][1], self.url, "--job", "other")
        text, _ = kymo("fleet", "top", "--db", self.url, "--job", "", "--since", "30d", "--json")
        self.assertEqual({row["traces"] for row in json.loads(text)["rows"]}, {1})
        _, text = kymo("fleet", "top", "--db", self.url, "--job", "x", expect=3)
        self.assertIn("''", text)

    def test_a_process_that_is_named_by_a_command_line_is_the_job(self):
        name = "python train.py --data /mnt/x"
        content = json.loads(pathlib.Path(self.files[0][0]).read_text())
        content["traceEvents"].append({"ph": "M", "name": "process_name", "pid": 100, "args": {"name": name}})
        file = self.folder / "command-line.json"
        file.write_text(json.dumps(content))
        kymo("push", file, self.url)
        kymo("fleet", "top", "--db", self.url, "--job", name, "--since", "30d")

    def test_the_printed_sql_names_the_files(self):
        for question in ["top", "diff", "stragglers", "history"]:
            sql, _ = kymo("fleet", question, "--db", self.store, "--job", "train", "--sql")
            self.assertIn("it''s/kymo-8/*/traces.parquet'", sql)

    def test_a_second_push_adds_nothing(self):
        files = self.files[0][:4]
        kymo("push", *files, self.url, "--job", "train")
        _, text = kymo("push", *files, files[0], self.url, "--job", "train")
        self.assertIn("5 already there", text)
        self.assertEqual(self.gemm(self.url)["calls"], 4 * STEPS)

    def test_a_damaged_file_is_named_with_what_to_do(self):
        kymo("push", *self.of_a_day[:2], self.url, "--job", "train")
        [file] = self.path.glob("kymo-8/2*/operations.parquet")
        good = file.read_bytes()
        # The description of the columns, and a file that is cut.
        for bad in [good[:-200] + b"\xff" * 150 + good[-50:], good[:len(good) // 2], b""]:
            file.write_bytes(bad)
            _, text = kymo("fleet", "top", "--db", self.url, "--since", "5000d", expect=2)
            self.assertIn(f"cannot read {file}: ", text)
            self.assertIn("if it is damaged, delete the folder that it is in, and push the traces again", text)
            self.assertEqual(len(text.splitlines()), 1)
        shutil.rmtree(file.parent)
        kymo("push", *self.of_a_day[:2], self.url, "--job", "train")
        self.assertEqual(self.gemm(self.url)["calls"], 2 * STEPS)

    def test_a_job_is_given_as_fleet_prints_it(self):
        kymo("push", self.of_a_day[0], self.url, "--job", "a\\x00\\xFFb")
        text, _ = kymo("fleet", "top", "--db", self.url, "--since", "5000d", "--job", "a\\x00\\xFFb", "--json")
        self.assertEqual({row["traces"] for row in json.loads(text)["rows"]}, {1})
        self.assertIn("1 already there", kymo("push", self.of_a_day[0], self.url, "--job", "a\\x00\\xFFb")[1])

    def test_a_killed_pusher_loses_and_doubles_nothing(self):
        files = self.files[0][:6]
        for round_number in range(ROUNDS):
            url = f"{self.url}{round_number}"
            command = [clickhouse.KYMO, "push", *files, url, "-q", "--job", "train"]
            clickhouse.push_after_kills(command)
            self.assertEqual(self.gemm(url)["calls"], 6 * STEPS)
            self.assertEqual(self.gemm(url)["traces"], 6)

    def test_several_pushers_at_the_same_time(self):
        pushers = [subprocess.Popen([clickhouse.KYMO, "push", *self.files[i % 2], self.url, "-q", "--job", "train"])
                   for i in range(4)]
        self.assertEqual([pusher.wait(timeout=600) for pusher in pushers], [0] * 4)
        self.assertEqual(self.gemm(self.url)["calls"], 48 * STEPS)

    def test_names_with_any_byte_survive(self):
        file = self.folder / "bytes.kymo"
        kymo("record", "-o", file, "--", clickhouse.BIN / "any_bytes", expect=None)
        kymo("push", file, self.url, "--job", "train")
        text, _ = kymo("fleet", "top", "--db", self.url, "--limit", 1000)
        names = {line.split("  ")[-1] for line in text.splitlines()[1:] if not line.startswith("devices: ")} - {"all of them"}
        self.assertEqual(len(names), 256)
        self.assertLessEqual({"\\xFFx\\x00", "Ax\\xBE", "\\x0Ax\\xF5"}, names)
        rows = self.ask("top", "--limit", 1000, url=self.url)["rows"]
        self.assertLessEqual({"\\xFFx\\x00", "Ax\\xBE"}, {row["name"] for row in rows})  # as the files have them
        self.assertLessEqual(names, {row["operation"] for row in rows})
        for name in sorted(names)[::16] + ["\\xFFx\\x00"]:  # as it is printed
            text, _ = kymo("fleet", "history", "--db", self.url, "--operation", name, expect=3)
            self.assertRegex(text, "^1 sample, median [1-9]", name)
        for byte in range(1, 255, 11):  # as an argument, which cannot have a NUL
            name = bytes([byte, ord("x"), 255 - byte])
            done = subprocess.run([clickhouse.KYMO, "fleet", "history", "--db", self.url, b"--operation=" + name],
                                  capture_output=True, text=True)
            self.assertRegex(done.stdout, "^1 sample, median [1-9]", (byte, done.stderr))

    def test_an_injection_through_a_name_is_only_a_name(self):
        evil = "x'); DROP TABLE operations; --\\\"`"
        file = write_trace(self.folder / "evil.json", name=lambda i: f"{evil}{i}")
        kymo("push", file, self.url, "--job", evil)
        out, _ = kymo("fleet", "top", "--db", self.url, "--job", evil, "--since", "5000d")
        self.assertIn("DROP TABLE", out)
        out, _ = kymo("fleet", "history", "--db", self.url, "--job", evil, "--since", "5000d", "--operation", evil + "1",
                      expect=3)
        self.assertIn("1 sample", out)

    def test_wrong_folders(self):
        for url, word in [("parquet:", "no folder"), ("parquet:a*", "pattern"), ("parquet://host/x", "host"),
                          ("there", "parquet:FOLDER")]:
            for command in [["push", self.files[0][0], url], ["fleet", "top", "--db", url]]:
                _, text = kymo(*command, expect=2)
                self.assertIn(word, text)
        _, text = kymo("fleet", "top", "--db", "parquet:/no/such/folder", expect=2)
        self.assertIn("has no tables", text)
        self.path.mkdir()
        (self.path / "notes.txt").write_text("mine")
        _, text = kymo("push", self.files[0][0], self.url, expect=1)
        self.assertIn("has other files", text)
        self.assertEqual([file.name for file in self.path.iterdir()], ["notes.txt"])
        _, text = kymo("push", self.files[0][0], "parquet:/proc/x", expect=1)
        self.assertIn("cannot make the folder", text)
        file = f"parquet:{self.files[0][0]}"
        for command, code in [(["push", self.files[0][0], file], 1), (["fleet", "top", "--db", file], 2)]:
            kymo(*command, expect=code)

    def test_a_full_disk_leaves_what_was_there(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("no permission to mount a small file system")
        try:
            url = f"parquet:{disk}/store"
            kymo("push", self.files[0][0], url, "--job", "train")
            with open(disk / "ballast", "wb", buffering=0) as ballast:
                try:
                    while ballast.write(b"\0" * 4096):
                        pass
                except OSError:
                    pass
            _, text = kymo("push", *self.files[0][:4], url, "--job", "train", expect=1)
            self.assertIn("run the same command again", text)
            self.assertEqual(self.gemm(url)["traces"], 1)
            (disk / "ballast").unlink()
            kymo("push", *self.files[0][:4], url, "--job", "train")
            self.assertEqual(self.gemm(url)["calls"], 4 * STEPS)
        finally:
            subprocess.run(["umount", "-l", disk], check=False)

    def test_watch_pushes_into_a_folder(self):
        watched = self.folder / "watched"
        watched.mkdir()
        kymo("import", self.files[0][0], "-o", watched / "a.kymo")
        kymo("watch", watched, "--push", self.url, "--keep", "1B", "--once", "--job", "train")
        self.assertFalse((watched / "a.kymo").exists())
        self.assertEqual(self.gemm(self.url)["traces"], 1)


if __name__ == "__main__":
    clickhouse.skip_without_duckdb()
    unittest.main(verbosity=2)
