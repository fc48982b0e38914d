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
import sys
import time
import unittest

from recorded_programs import BIN, LIMIT, MILLISECONDS, Recorded, start, wait_until_it_samples, wait_until_it_worked


class EachSampler:
    """What holds for the samples of the kernel, and for those of timers inside the programs."""

    def test_functions_of_a_program(self):
        self.record(BIN / "busy", "one", MILLISECONDS)
        table, rows = self.functions()
        self.assertGreater(rows["busy_inner"]["self_samples"], 0)
        self.assertEqual(rows["busy_inner"]["module"], str((BIN / "busy").resolve()))
        self.assertGreaterEqual(rows["busy_outer"]["total_samples"], rows["busy_inner"]["self_samples"])
        self.assertGreaterEqual(rows["main"]["total_samples"], rows["busy_outer"]["total_samples"])
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_short_threads_are_not_said_to_be_sampled(self):
        self.record(BIN / "busy", "short", MILLISECONDS)
        table, _ = self.functions()
        self.assertGreaterEqual(table["threads"], 400)
        # 400 threads for at least 0.3 ms each, and the main thread.
        self.assertGreater(table["cpu_ns"], 400 * 300_000 + int(MILLISECONDS) * 1_000_000)
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo")
        self.assertRegex(out, r"samples: .* of the .* of CPU time of 40[0-9] threads")
        if table["time_ns"] < table["cpu_ns"] * 0.94:
            self.assertRegex(out, r"of CPU time \(.* %\) has no sample: mostly of threads that used the CPU for less than")

    def test_chain_of_programs_is_one_process_with_the_command_line_of_each(self):
        # The first and the second are replaced at once, so their command lines cannot be read in time.
        script = self.folder / "chain"
        loop = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done\n"
        script.write_text("#!/bin/sh\ncase $1 in 1) exec $0 2;; 2) exec $0 3;; 3) " + loop +
                          f"exec {BIN / 'busy'} one {MILLISECONDS};; esac\n")
        script.chmod(0o755)
        began_ns = time.time_ns()
        err = self.record(script, "1")
        self.assertRegex(err, r"samples?(, .* waits?.*)? from 1 process, 1 thread ")
        code, out, _ = self.run_words(BIN / "kymo", "info", "run.kymo", "--json")
        processes = json.loads(out)["processes"]
        self.assertGreaterEqual(json.loads(out)["begin_realtime_ns"], began_ns, "an event before the program")
        self.assertEqual(len({process["pid"] for process in processes}), 1)
        commands = [process["command_line"][-2:] for process in processes]
        self.assertEqual(commands[-1], ["one", MILLISECONDS])
        self.assertEqual(commands[-2], [str(script), "3"])
        # One that had a sample nevertheless has its own command line, or only its name.
        for command in commands[:-2]:
            self.assertIn(command[-1], ("1", "2", "chain", "sh"))

    def test_rate(self):
        self.record(BIN / "busy", "one", MILLISECONDS, options=("--sample", "10kHz"))
        at_10_khz, _ = self.functions()
        self.record(BIN / "busy", "one", MILLISECONDS, options=("--sample", "100Hz"))
        at_100_hz, _ = self.functions()
        self.assertGreater(at_10_khz["samples"], (10 if self.sampler == "kernel" else 1.5) * at_100_hz["samples"])
        # Each sample stands for a hundredth of a second, but all together for no more CPU time than the thread used.
        expected_ns = min(at_100_hz["samples"] * 10_000_000, at_100_hz["cpu_ns"])
        self.assertAlmostEqual(at_100_hz["time_ns"], expected_ns, delta=100)

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

    def test_deep_stack_is_whole(self):
        self.record(BIN / "busy", "deep", MILLISECONDS)
        self.assert_path(r"main;(deep_work;){201}busy_outer;busy_inner")
        table, _ = self.functions()
        self.assertLess(table["incomplete_stacks"], table["samples"] / 2)

    def test_signal_handler(self):
        self.record(BIN / "busy", "signal", MILLISECONDS)
        self.assert_path(r"main;busy_raise;[^ ]*;__restore_rt;busy_handler;busy_outer;busy_inner")

    def test_coroutine_has_a_whole_stack(self):
        self.record(BIN / "busy", "coroutine", MILLISECONDS)
        table, rows = self.functions()
        inside = rows["busy_coroutine"]["total_samples"]
        self.assertGreater(inside, 0)
        self.assertLess(table["incomplete_stacks"], max(inside / 2, 1), self.paths())
        self.assertFalse([path for path in self.paths() if re.search(r"unwind tables.*busy_coroutine", path)])

    def test_code_of_the_kernel_in_the_program_has_names(self):
        self.record(BIN / "busy", "clock", MILLISECONDS)
        inside = {name for name, row in self.functions()[1].items() if row["module"] == "[vdso]"}
        if not inside:
            self.skipTest("the time is asked for in the kernel here")
        self.assertTrue(all(re.fullmatch(r"(__kernel_|__vdso_)?[a-z_]+", name) for name in inside), inside)

    def test_library_in_the_place_of_another_one(self):
        # The second is removed before another one takes its place: its names are read before that. It goes on until the
        # recorder has opened it.
        for name in "abc":
            shutil.copy(BIN / "libbusy.so", self.folder / f"{name}.so")
        script = self.folder / "reload.py"
        script.write_text("import contextlib, ctypes, _ctypes, os\n"
                          "def is_open(name):\n"
                          "    files = f'/proc/{os.getppid()}/fd'\n"
                          "    for file in os.listdir(files):\n"
                          "        with contextlib.suppress(OSError):\n"
                          "            if os.readlink(f'{files}/{file}').endswith(name): return True\n"
                          "for name in 'abca':\n"
                          "    library = ctypes.CDLL('./%s.so' % name)\n"
                          "    print(ctypes.cast(library.busy_outer, ctypes.c_void_p).value)\n"
                          f"    library.busy_outer({MILLISECONDS})\n"
                          "    if name == 'b':\n"
                          "        for _ in range(1000):\n"
                          "            if is_open('/b.so'): break\n"
                          "            library.busy_outer(10)\n"
                          "        os.unlink('b.so')\n"
                          "    _ctypes.dlclose(library._handle)\n"
                          "    del library\n")
        code, out, err = self.run_words(BIN / "kymo", "record", "--sampler", self.sampler, "-o", "run.kymo", "--",
                                        sys.executable, script)
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        if len(set(out.split())) != 1:
            self.skipTest("the libraries were loaded at different addresses")
        table, _ = self.functions()
        samples = {pathlib.Path(row["module"]).name: row["self_samples"] for row in table["functions"]
                   if row["function"] == "busy_inner"}
        self.assertEqual(samples.keys(), {"a.so", "b.so", "c.so"})
        self.assertGreater(min(samples.values()), 0)
        # The first one ran twice as long as the last one. A busy machine changes little: it is CPU time.
        self.assertGreater(samples["a.so"], samples["c.so"])

    def test_killed_program_keeps_its_samples(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--sampler", self.sampler, "-o",
                                      "run.kymo", "--", "sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS}; kill -9 $$")
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, -signal.SIGKILL)
        self.assertIn("busy_inner", self.functions()[1])

    def test_samples_of_an_annotated_program_are_in_its_ranges(self):
        err = self.record(BIN / "spins", MILLISECONDS)
        self.assertRegex(err, r"[0-9]+ events, [0-9,]+ samples")
        _, inside = self.functions("--in", "inner")
        self.assertIn("spin_inside", inside)
        self.assertNotIn("spin_outside", inside)
        self.assertIn("spin_outside", self.functions()[1])
        self.assertIn("spin_inside", self.functions("--in", "outer")[1], "the ranges around a sample count")
        self.assert_path(r";inner;.*spin_inside")

    def test_flight_recorder_contains_samples(self):
        self.record(BIN / "busy", "one", MILLISECONDS, options=("--flight", "30s"))
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_first_samples_of_a_flight_recorder_have_their_stacks(self):
        self.record(BIN / "busy", "threads", "1500", options=("--flight", "500ms"))
        self.assertNotIn("(unknown)", self.functions()[1])

    def test_short_program(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", "true")
        self.assertEqual(code, 0, err)


class KernelTest(EachSampler, Recorded):
    def test_path_goes_on_in_the_thread_or_child_that_ended_or_that_created_it(self):
        for how, names in (("threads", {"busy worker-one", "busy worker-two"}), ("fork", {"busy"})):
            self.record(BIN / "busy", how, MILLISECONDS)
            _, out, err = self.run_words(BIN / "kymo", "path", "run.kymo", "--json")
            path = json.loads(out)
            if path["missing_wake_ups"]:
                self.skipTest(out)
            waiting = sum(row["ns"] for row in path["rows"] if row["what"] in ("(waiting)", "(not known)"))
            self.assertLess(waiting, path["length_ns"] / 4, path["rows"])
            busiest = max(path["rows"], key=lambda row: row["ns"])
            self.assertIn(busiest["where"].split(" (thread ")[0], names, path["rows"])

    def test_path_names_the_last_program_of_a_process(self):
        for _ in range(3):  # the order of the two programs in the trace is random
            self.record("sh", "-c", f"{BIN / 'busy'} one 50; exec {BIN / 'busy'} one 100")
            _, out, err = self.run_words(BIN / "kymo", "path", "run.kymo", "--json")
            self.assertEqual({row["where"].split(" ")[0] for row in json.loads(out)["rows"]}, {"busy"}, out)

    def test_path_of_a_running_process_whose_first_thread_only_waits(self):
        process = start([sys.executable, "-S", "-c", "import threading\ndef work():\n while True: sum(range(1000))\n"
                         "one = threading.Thread(target=work)\none.start()\nprint('runs', flush=True)\none.join()"],
                        self.folder)
        try:
            process.stdout.readline()
            self.run_words(BIN / "kymo", "record", "--pid", process.pid, "--duration", "1s", "-o", "run.kymo")
        finally:
            process.kill()
            process.communicate()
        code, out, err = self.run_words(BIN / "kymo", "path", "run.kymo", "--json")
        self.assertEqual(code, 0, err)
        self.assertTrue(json.loads(out)["rows"], out)

    def test_static_program(self):
        if not (BIN / "busy_static").exists():
            self.skipTest("there is no static C library")
        self.record(BIN / "busy_static", "one", MILLISECONDS)
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_function_of_a_static_program_without_symbols_is_one_row(self):
        if not (BIN / "busy_static").exists():
            self.skipTest("there is no static C library")
        program = self.folder / "stripped"
        code, _, err = self.run_words(self.installed("strip"), "-o", program, BIN / "busy_static")
        self.assertEqual(code, 0, err)
        self.record(program, "one", MILLISECONDS)
        _, symbols, _ = self.run_words(self.installed("nm"), BIN / "busy_static")
        begin = int(re.search(r"^([0-9a-f]+) . busy_inner$", symbols, re.M)[1], 16)
        _, segments, _ = self.run_words(self.installed("readelf"), "-lW", program)
        first = min(int(address, 16) for address in re.findall(r"^  LOAD\s+0x[0-9a-f]+ 0x([0-9a-f]+)", segments, re.M))
        self.assertIn(f"stripped+{begin - first:#x}", self.functions()[1])

    def test_frame_pointers(self):
        self.record(BIN / "busy_frame_pointers", "one", MILLISECONDS, options=("--stacks", "frame-pointers"))
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_time_off_the_cpu(self):
        self.record("sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS}; {BIN / 'busy'} sleep 100; true")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo")
        self.assertIn("of CPU time of", out)
        table, _ = self.functions()
        self.assertGreater(table["off_cpu_ns"], 0)

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
        wait_until_it_samples(recorder)
        wait_until_it_worked(process.pid, 0.2)
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
        wait_until_it_samples(recorder)
        recorder.send_signal(signal.SIGINT)
        out, err = recorder.communicate(timeout=LIMIT)
        if "cannot sample" in err:
            self.skipTest(err.strip())
        self.assertEqual(recorder.returncode, 0, err)
        self.assertIsNone(process.poll())

    def test_off(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "-o", "run.kymo", "--", BIN / "busy",
                                      "one", "1")
        self.assertEqual(code, 0)
        self.assertIn("nothing was recorded: no program that ran is linked with Kymo", err)


class TimersTest(EachSampler, Recorded):
    sampler = "timers"

    def test_refused_sampling_is_said_and_the_recording_goes_on(self):
        for error, words in ((1, "forbidden here"), (38, "no perf_event_open")):
            recorder = (BIN / "no_perf", error, BIN / "kymo", "record", "-o", "run.kymo")
            code, _, err = self.run_words(*recorder, "--", BIN / "spins", MILLISECONDS)
            if code == 77:
                self.skipTest("seccomp: " + err.strip())
            self.assertEqual(code, 0, err)
            self.assertRegex(err, "kymo: CPU samples by timers inside the program, [0-9]+ a second \\(.*" + words)
            self.assertRegex(err, r"2 events, [1-9][0-9]* samples? from 1 process")
            self.assertIn("spin_inside", self.functions("--in", "inner")[1])
            missing = "functions of the kernel, waits, wake-ups"
            self.assertEqual(err.count(missing), 1, err)
            for reader in ("info", "report"):
                said = " ".join(self.run_words(BIN / "kymo", reader, "run.kymo")[1].split())
                self.assertRegex(said, f"{missing}: timers in the program sampled it, because .*{words}")
            self.assertIn("timers inside them", self.run_words(BIN / "no_perf", error, BIN / "kymo", "doctor")[1])
            code, _, err = self.run_words(*recorder, "--sampler", "kernel", "--", BIN / "spins", "1")
            self.assertEqual(code, 0, err)
            self.assertRegex(err, "kymo: no CPU samples: .*" + words)
            self.assertRegex(err, "2 events from 1 process")
        code, _, err = self.run_words(BIN / "no_perf", 1, BIN / "kymo", "record", "--pid", os.getpid(), "-o", "pid.kymo")
        self.assertEqual(code, 1, err)
        self.assertIn("cannot sample process", err)
        self.assertFalse((self.folder / "pid.kymo").exists())

    def test_program_that_uses_signals_is_not_disturbed(self):
        err = self.record(BIN / "guest")
        self.assert_path(r"main;test_signalfd;guest_work")
        self.assert_path(r"wait_for_signals;guest_work")
        self.assert_path(r"coroutine;guest_work")
        self.assert_path(r"main;test_children;guest_work")

    def test_other_preloaded_libraries_stay(self):
        os.environ["LD_PRELOAD"] = "libdl.so.2"
        self.addCleanup(os.environ.pop, "LD_PRELOAD")
        code, out, err = self.run_words(BIN / "kymo", "record", "--sampler", "timers", "-o", "run.kymo", "--", "sh", "-c",
                                        "echo $LD_PRELOAD")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^libdl.so.2:.*libkymo_sample.so\n$")

    def test_static_program_is_said_to_have_no_samples(self):
        if not (BIN / "busy_static").exists():
            self.skipTest("there is no static C library")
        code, _, err = self.run_words(BIN / "kymo", "record", "--sampler", "timers", "-o", "run.kymo", "--",
                                      BIN / "busy_static", "one", "1")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "no CPU samples of .*busy_static: it is linked statically, and Kymo's libraries do not work in such a program")

    def test_short_threads_are_sampled_in_proportion(self):
        self.record(BIN / "busy", "short", MILLISECONDS)
        expected = 400 * 0.0003 / time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE: the time between two samples
        self.assertGreater(self.functions()[1]["short_worker"]["total_samples"], expected / 4)

    def test_process_in_another_pid_namespace(self):
        if self.run_words("unshare", "--pid", "--fork", "true")[0] != 0:
            self.skipTest("no PID namespaces here")
        err = self.record("unshare", "--pid", "--fork", BIN / "busy", "threads", MILLISECONDS)
        self.assertNotIn("still running", err)
        self.assert_path(r"worker-two;.*worker_two;busy_outer;busy_inner")

    def test_library_that_is_loaded_later(self):
        self.record(sys.executable, "-c", "import ctypes, time\nwork = ctypes.CDLL('%s').busy_outer\nwork(300)\n" % (
            BIN / "libbusy.so"))
        self.assert_path(r"main.*;busy_outer;busy_inner")

    def test_sanitized_program(self):
        compiler = shutil.which("gcc")
        source = self.folder / "a.c"
        source.write_text("int main(void) { volatile int i; for (i = 0; i < 100000000; ++i); return 0; }")
        if compiler is None or self.run_words(compiler, "-fsanitize=address", source, "-o", "a")[0] != 0:
            self.skipTest("no compiler with AddressSanitizer")
        if self.run_words(self.folder / "a")[0] != 0:
            self.skipTest("AddressSanitizer does not work here")
        self.record(self.folder / "a")


if __name__ == "__main__":
    unittest.main(verbosity=1)
