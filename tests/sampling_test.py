#!/usr/bin/env python3
"""`kymo record` samples programs that nobody changed: threads, children, other programs, static ones, running ones.

Every statement is about what is found, not about how often: the machine may be busy. Where the kernel refuses to sample,
the test says so and is skipped, except for the part about the refusal.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin"
LIMIT = 120
MILLISECONDS = "300"


def start(words, folder, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_")}
    environment["KYMO_SHM_DIR"] = str(folder)
    return subprocess.Popen([str(word) for word in words], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)


class SamplingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kymo-sampling-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_words(self, *words):
        process = start(words, self.folder)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    def record(self, *words, options=()):
        code, out, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", *options, "--", *words)
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"[1-9][0-9,]* samples? ", err)
        return err

    def functions(self, *options, file="run.kymo"):
        code, out, err = self.run_words(BIN / "kymo", "stats", file, "--by", "function", "--json", *options)
        self.assertEqual(code, 0, err)
        table = json.loads(out)
        return table, {row["function"]: row for row in table["functions"]}

    def paths(self):
        code, out, err = self.run_words(BIN / "kymo", "flame", "run.kymo", "--by", "function")
        self.assertEqual(code, 0, err)
        return out.splitlines()

    def assert_path(self, pattern):
        self.assertTrue(any(re.search(pattern, path) for path in self.paths()), pattern + "\n" + "\n".join(self.paths()))

    def test_functions_of_a_program(self):
        self.record(BIN / "busy", "one", MILLISECONDS)
        table, rows = self.functions()
        self.assertGreater(rows["busy_inner"]["self_samples"], 0)
        self.assertEqual(rows["busy_inner"]["module"], str((BIN / "busy").resolve()))
        self.assertGreaterEqual(rows["busy_outer"]["total_samples"], rows["busy_inner"]["self_samples"])
        self.assertGreaterEqual(rows["main"]["total_samples"], rows["busy_outer"]["total_samples"])
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_rate(self):
        self.record(BIN / "busy", "one", MILLISECONDS, options=("--sample", "10kHz"))
        at_10_khz, _ = self.functions()
        self.record(BIN / "busy", "one", MILLISECONDS, options=("--sample", "100Hz"))
        at_100_hz, _ = self.functions()
        self.assertGreater(at_10_khz["samples"], 10 * at_100_hz["samples"])
        # Each sample stands for a hundredth of a second.
        self.assertEqual(at_100_hz["time_ns"], at_100_hz["samples"] * 10_000_000)

    def test_threads_have_their_names(self):
        self.record(BIN / "busy", "threads", MILLISECONDS)
        self.assert_path(r"^busy[^;]*;worker-one;.*worker_one;busy_outer;busy_inner")
        self.assert_path(r"^busy[^;]*;worker-two;.*worker_two;busy_outer;busy_inner")

    def test_child_process(self):
        self.record(BIN / "busy", "fork", MILLISECONDS)
        self.assert_path(r"main;child_work;busy_outer;busy_inner")

    def test_other_program_in_the_same_process(self):
        self.record("sh", "-c", f"exec {BIN / 'busy'} one {MILLISECONDS}")
        _, rows = self.functions()
        self.assertIn("busy_inner", rows)

    def test_programs_of_a_shell(self):
        self.record("sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS}; {BIN / 'busy'} threads {MILLISECONDS}; true")
        self.assert_path("worker-two")
        code, out, _ = self.run_words(BIN / "kymo", "info", "run.kymo", "--json")
        commands = [" ".join(process["command_line"]) for process in json.loads(out)["processes"]]
        self.assertTrue(any(command.endswith(f"busy one {MILLISECONDS}") for command in commands), commands)

    def test_static_program(self):
        if not (BIN / "busy_static").exists():
            self.skipTest("there is no static C library")
        self.record(BIN / "busy_static", "one", MILLISECONDS)
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_deep_stack_is_whole(self):
        self.record(BIN / "busy", "deep", MILLISECONDS)
        self.assert_path(r"main;(deep_work;){201}busy_outer;busy_inner")
        table, _ = self.functions()
        self.assertLess(table["incomplete_stacks"], table["samples"] / 2)

    def test_frame_pointers(self):
        self.record(BIN / "busy_frame_pointers", "one", MILLISECONDS, options=("--stacks", "frame-pointers"))
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_time_off_the_cpu(self):
        self.record("sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS}; {BIN / 'busy'} sleep 100; true")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo")
        self.assertIn("of CPU time of", out)
        table, _ = self.functions()
        self.assertGreater(table["off_cpu_ns"], 0)

    def test_killed_program_keeps_its_samples(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", "sh", "-c",
                                      f"{BIN / 'busy'} one {MILLISECONDS}; kill -9 $$")
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 128 + signal.SIGKILL)
        self.assertIn("busy_inner", self.functions()[1])

    def test_samples_of_an_annotated_program_are_in_its_ranges(self):
        err = self.record(BIN / "spins", MILLISECONDS)
        self.assertRegex(err, r"[0-9]+ events, [0-9,]+ samples")
        _, inside = self.functions("--in", "inner")
        self.assertIn("spin_inside", inside)
        self.assertNotIn("spin_outside", inside)
        self.assertIn("spin_outside", self.functions()[1])
        self.assertEqual(self.functions("--in", "outer")[0]["samples"], 0, "the innermost range counts")
        self.assert_path(r";inner;.*spin_inside")

    def test_running_process(self):
        process = start([BIN / "busy", "forever", "0"], self.folder)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        pid = int(process.stdout.readline())
        code, _, err = self.run_words(BIN / "kymo", "record", "--pid", pid, "--duration", "1s", "-o", "run.kymo")
        if "cannot sample" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertIsNone(process.poll(), "it still runs")
        self.assert_path(r"^busy \(\d+\);busy;.*main;busy_outer;busy_inner")

    def test_running_process_that_ends(self):
        process = start([BIN / "busy", "forever", "0"], self.folder)
        pid = int(process.stdout.readline())
        recorder = start([BIN / "kymo", "record", "--pid", pid, "-o", "run.kymo"], self.folder)
        for _ in range(LIMIT * 10):
            if recorder.poll() is not None or (self.folder / "run.kymo").exists():
                break
            time.sleep(0.1)
        time.sleep(0.5)
        process.kill()
        process.communicate()
        out, err = recorder.communicate(timeout=LIMIT)
        if "cannot sample" in err:
            self.skipTest(err.strip())
        self.assertEqual(recorder.returncode, 0, err)
        self.assertIn("busy_inner", self.functions()[1])

    def test_ctrl_c_ends_the_recording_of_a_running_process(self):
        process = start([BIN / "busy", "forever", "0"], self.folder)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        pid = int(process.stdout.readline())
        recorder = start([BIN / "kymo", "record", "--pid", pid, "-o", "run.kymo"], self.folder)
        time.sleep(1)
        recorder.send_signal(signal.SIGINT)
        out, err = recorder.communicate(timeout=LIMIT)
        if "cannot sample" in err:
            self.skipTest(err.strip())
        self.assertEqual(recorder.returncode, 0, err)
        self.assertIsNone(process.poll())

    def test_refused_sampling_is_said_and_the_recording_goes_on(self):
        for error, words in ((1, "forbidden here"), (38, "no perf_event_open")):
            code, _, err = self.run_words(BIN / "no_perf", error, BIN / "kymo", "record", "-o", "run.kymo", "--",
                                          BIN / "spins", "1")
            if code == 77:
                self.skipTest("seccomp: " + err.strip())
            self.assertEqual(code, 0, err)
            self.assertRegex(err, "kymo: no CPU samples: .*" + words)
            self.assertEqual(err.count("no CPU samples"), 1)
            self.assertRegex(err, "2 events from 1 process")
        code, _, err = self.run_words(BIN / "no_perf", 1, BIN / "kymo", "record", "--pid", os.getpid(), "-o", "pid.kymo")
        self.assertEqual(code, 1, err)
        self.assertIn("cannot sample process", err)
        self.assertFalse((self.folder / "pid.kymo").exists())

    def test_off(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "-o", "run.kymo", "--", BIN / "busy",
                                      "one", "1")
        self.assertEqual(code, 0)
        self.assertIn("nothing was recorded: no program that ran is linked with Kymo", err)

    def test_flight_recorder_contains_samples(self):
        self.record(BIN / "busy", "one", MILLISECONDS, options=("--flight", "30s"))
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_short_program(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", "true")
        self.assertEqual(code, 0, err)

    def installed(self, program):
        path = shutil.which(program)
        if path is None:
            self.skipTest(f"{program} is not installed")
        return path

    # Programs of the distribution have no frame pointers on x86-64. Nearly all stacks must be complete nevertheless.
    def assert_complete(self):
        table, rows = self.functions()
        self.assertGreater(table["samples"], 0)
        self.assertLess(table["incomplete_stacks"], max(table["samples"] * 0.2, 5))
        return rows

    def test_xz(self):
        data = self.folder / "data"
        data.write_bytes(os.urandom(1 << 20) * 2)
        self.record(self.installed("xz"), "-k", "-6", data)
        rows = self.assert_complete()
        self.assertTrue(any("liblzma" in row["module"] for row in rows.values()))

    def test_sqlite3(self):
        query = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) select sum(i) from n;"
        self.record(self.installed("sqlite3"), ":memory:", query)
        rows = self.assert_complete()
        self.assertTrue(any("sqlite" in row["module"] for row in rows.values()))

    def test_same_functions_as_perf(self):
        perf = self.installed("perf")
        words = [perf, "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", "perf.data", "--", BIN / "busy", "one", MILLISECONDS]
        code, _, err = self.run_words(*words)
        if code != 0:
            self.skipTest("perf record: " + err.strip())
        _, report, _ = self.run_words(perf, "report", "-i", "perf.data", "--stdio", "--no-children", "-F", "overhead,sym")
        shares = {name: float(share) for share, name in re.findall(r"^\s*([0-9.]+)%\s+\[.\]\s+(\S+)", report, re.M)}
        self.record(BIN / "busy", "one", MILLISECONDS)
        table, rows = self.functions()
        self.assertGreater(shares.get("busy_inner", 0), 80, report)
        self.assertGreater(100 * rows["busy_inner"]["self_samples"] / table["samples"], 80, rows)

    def test_compiler(self):
        source = self.folder / "a.cc"
        source.write_text("#include <map>\n#include <regex>\nint main() { return std::regex_match(\"a\", std::regex(\"b\")); }\n")
        self.record(self.installed("g++"), "-c", source, "-o", self.folder / "a.o")
        rows = self.assert_complete()
        self.assertTrue(any("cc1plus" in row["module"] for row in rows.values()))


if __name__ == "__main__":
    unittest.main(verbosity=1)
