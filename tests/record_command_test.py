#!/usr/bin/env python3
"""How `kymo record` behaves around a program that nobody changed: signals, processes that stay, its terminal, options."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from recorded_programs import BIN, LIMIT, MILLISECONDS, Recorded, start, wait_until_it_worked

CLOCK_MONOTONIC_COARSE = 6  # which the time module does not name


class RecordTest(Recorded):
    def test_time_off_the_cpu_is_the_same_in_stats_and_info(self):
        self.record("sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS} & sleep 0.2; wait")
        table, _ = self.functions()
        _, out, _ = self.run_words(BIN / "kymo", "info", "run.kymo", "--json")
        threads = {(process["pid"], track["tid"]) for process in json.loads(out)["processes"]
                   for track in process["tracks"]}
        self.assertEqual(table["threads"], len(threads), "threads without samples, and a thread that runs two programs")

    def test_flight_recorder_says_how_many_samples_are_kept(self):
        err = self.record(BIN / "busy", "one", "3000", options=("--flight", "1s"))
        kept, _ = re.search(r"([0-9,]+) samples? \(the last of ([0-9,]+)\)", err).groups()
        self.assertEqual(int(kept.replace(",", "")), self.functions()[0]["samples"])
        self.assertNotIn("lost", err)

    def test_flight_recorder_says_how_many_events_are_kept(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "--flight", "20ms", "-o", "run.kymo", "--",
                                      BIN / "burst", "counts", "400000", "4")
        self.assertEqual(code, 0, err)
        said = re.search(r"([0-9,]+) events? from", err).group(1)
        _, out, _ = self.run_words(BIN / "kymo", "info", "run.kymo", "--json")
        info = json.loads(out)
        self.assertEqual(int(said.replace(",", "")), info["ranges"] + info["points"], err)
        self.assertLess(info["ranges"], 1_600_000, "the test needs a flight recorder that has dropped some")

    def test_environment_of_a_program_that_ends_at_once_is_in_the_trace(self):
        self.run_words("env", "RANK=3", "KEY=secret", BIN / "kymo", "record", "-o", "run.kymo", "--", BIN / "spins", "0")
        code, out, err = self.run_words(BIN / "kymo", "info", "run.kymo", "--json")
        self.assertEqual(code, 0, err)
        for process in json.loads(out)["processes"]:
            self.assertEqual(process["metadata"].get("RANK"), "3", process)
            self.assertEqual(process["command_line"], [str(BIN / "spins"), "0"])
        self.assertNotIn("secret", out)

    def test_message_about_lost_samples_has_the_rate_of_the_timers(self):
        recorder = start([BIN / "kymo", "record", "--sampler", "timers", "-o", "run.kymo", "--", BIN / "busy", "forever",
                          "0"], self.folder)
        self.addCleanup(recorder.kill)
        pid = int(recorder.stdout.readline())
        rate = min(1000, round(1 / time.clock_getres(CLOCK_MONOTONIC_COARSE)))
        slots = min(max(256, 64 * os.cpu_count()), 2048)
        recorder.send_signal(signal.SIGSTOP)
        wait_until_it_worked(pid, 4 * slots / rate)  # a busy machine delivers fewer ticks
        recorder.send_signal(signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
        _, err = recorder.communicate(timeout=LIMIT)
        if "lost" not in err:  # the signals of a busy machine come late, and each is several samples
            self.skipTest("no samples were lost while the recorder was stopped")
        text = "1 kHz" if rate == 1000 else f"{rate} Hz"
        self.assertIn(f"at {text}, samples come faster than they can be recorded: use a lower rate (--sample)", err)

    def test_process_that_outlives_the_program_is_said_to_be_cut_off(self):
        self.addCleanup(lambda: os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL))
        err = self.record("sh", "-c", f"{BIN / 'busy'} forever 0 > pid 2> /dev/null & "
                          f"until [ -s pid ]; do sleep 0.05; done; {BIN / 'busy'} one {MILLISECONDS}")
        self.assertIn("1 process it started is still running: what it does from now on is not in the trace", err)
        self.assertIn("busy_inner", self.functions()[1])

    def test_signal_that_ends_the_program_ends_kymo_after_the_trace_is_complete(self):
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            recorder = start([BIN / "kymo", "record", "-o", f"{number}.kymo", "--", BIN / "busy", "forever", "0"],
                             self.folder)
            recorder.stdout.readline()
            recorder.send_signal(number)
            _, err = recorder.communicate(timeout=LIMIT)
            self.assertEqual(recorder.returncode, -number, err)
            self.assertEqual(self.run_words(BIN / "kymo", "info", "--strict", f"{number}.kymo")[0], 0)

    def test_signal_that_the_program_dies_of_ends_kymo_too_without_a_core(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGFPE):
            words = ("prlimit", "--core=unlimited", BIN / "kymo", "record", "-o", "run.kymo", "--", "prlimit", "--core=0",
                     "sh", "-c", f"kill -{number.value} $$")
            code, _, err = self.run_words(*words)
            self.assertEqual(code, -number, err)
        self.assertEqual([file.name for file in self.folder.glob("*core*")], [])

    def test_empty_recording_keeps_the_older_trace(self):
        self.record(BIN / "busy", "one", MILLISECONDS)
        trace = self.folder / "run.kymo"
        trace.chmod(0o640)
        before = trace.read_bytes()
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "-o", "run.kymo", "--", "true")
        self.assertEqual(code, 0, err)
        self.assertIn("run.kymo is as it was before", err)
        self.assertEqual(trace.read_bytes(), before)
        self.assertEqual(sorted(file.name for file in self.folder.glob("run.kymo*")), ["run.kymo"])
        self.record(BIN / "busy", "one", MILLISECONDS)
        self.assertNotEqual(trace.read_bytes(), before)
        self.assertEqual(trace.stat().st_mode & 0o777, 0o640)
        self.assertEqual(sorted(file.name for file in self.folder.glob("run.kymo*")), ["run.kymo"])

    def test_page_does_not_replace_another_file(self):
        self.record(BIN / "busy", "one", MILLISECONDS)
        other = self.folder / "keep.cc"
        other.write_text("int main() {}\n")
        code, _, err = self.run_words(BIN / "kymo", "view", "run.kymo", "-o", "keep.cc")
        self.assertEqual(code, 1, err)
        self.assertIn("cannot write keep.cc: it is there and is not a page of kymo view; name another file", err)
        self.assertEqual(other.read_text(), "int main() {}\n")
        for _ in range(2):
            self.assertEqual(self.run_words(BIN / "kymo", "view", "run.kymo", "-o", "run.html")[0], 0)

    def test_short_threads_have_samples(self):
        """As many as their CPU time deserves."""
        source = self.folder / "a.cc"
        source.write_text("#include <ctime>\n#include <thread>\nint main() { for (int i = 0; i < 3000; ++i) "
                          "std::thread([] { while (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), now.tv_nsec < 400000); "
                          "}).join(); }\n".replace("[] {", "[] { timespec now{};"))
        words = (os.environ.get("CXX", "c++"), "-O1", "-pthread", "-o", "a", "a.cc")
        self.assertEqual(self.run_words(*words)[0], 0)
        err = self.record("./a")
        table, _ = self.functions()
        if "lost" in err:  # on a busy machine
            self.skipTest("records were lost")
        self.assertGreater(table["samples"], 500, err)
        self.assertLess(table["samples"], 2000, err)

    def test_id_of_a_thread_means_its_process(self):
        script = ("import threading, time\nthread = threading.Thread(target=lambda: time.sleep(1000), daemon=True)\n"
                  "thread.start()\nprint(thread.native_id, flush=True)\nwhile True: pass\n")
        process = start([sys.executable, "-c", script], self.folder)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        tid = int(process.stdout.readline())
        code, _, err = self.run_words(BIN / "kymo", "record", "--pid", tid, "--duration", "300ms", "-o", "run.kymo")
        if "cannot sample" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertRegex(err, rf"{tid} is a thread of process [0-9]+: all threads of the process are recorded")
        code, _, err = self.run_words(BIN / "kymo", "record", "--pid", "2000000000")
        self.assertEqual(code, 1)
        self.assertIn("there is no process 2000000000", err)

    def test_options_without_effect_are_refused(self):
        for option in (("--policy", "drop"), ("--ring-size", "64KiB"), ("--with", "itt"), ("--without", "nvtx"),
                       ("--sampler", "timers"), ("--memory",)):
            code, _, err = self.run_words(BIN / "kymo", "record", *option, "--pid", os.getpid())
            self.assertEqual(code, 2, err)
            self.assertIn(option[0], err)
            self.assertIn("no effect with --pid", err)

    def test_terminal_belongs_to_the_program(self):
        terminal, program_side = os.openpty()
        self.addCleanup(os.close, terminal)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_")}
        words = [str(BIN / "kymo"), "record", "-o", "run.kymo", "--", "sh", "-c", "printf 'name? '; sleep 1; echo"]
        process = subprocess.Popen(words, cwd=self.folder, env=environment, stdin=program_side, stdout=program_side,
                                   stderr=program_side)
        os.close(program_side)
        process.wait(timeout=LIMIT)
        shown = os.read(terminal, 1 << 16).decode()
        self.assertIn("name? ", shown)
        self.assertNotIn("\x1b[K", shown)

    def test_pipe_is_not_a_trace(self):
        os.mkfifo(self.folder / "pipe")
        for command in ("info", "stats", "report", "timeline", "import", "recover"):
            options = ("-o", "other.kymo") if command == "import" else ()
            code, _, err = self.run_words(BIN / "kymo", command, "pipe", *options)
            self.assertEqual(code, 1, command + err)
            self.assertIn("not a regular file", err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
