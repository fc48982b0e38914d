#!/usr/bin/env python3
"""What `kymo record` and its readers say about what was not recorded: the reason is the true one."""

import os
import re
import shutil
import time
import unittest

from recorded_programs import BIN, MILLISECONDS, Recorded, start


class ReasonsTest(Recorded):
    def kymo(self, *words):
        return self.run_words(BIN / "kymo", *words)

    def running(self):
        process = start([BIN / "busy", "forever", "0"], self.folder)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return int(process.stdout.readline())

    def test_setuid_program(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user")
        program = self.folder / "setuid"
        shutil.copy(BIN / "busy", program)
        os.chown(program, 65534, -1)
        program.chmod(0o4755)
        self.folder.chmod(0o755)
        if os.statvfs(program).f_flag & os.ST_NOSUID:
            self.skipTest("the file system has no setuid programs")
        code, _, err = self.kymo("record", "-o", "run.kymo", "--", program, "one", MILLISECONDS)
        self.assertEqual(code, 0, err)
        if "no CPU samples" in err or "by timers" in err:
            self.skipTest(err.strip())
        self.assertRegex(err, "setuid has the rights of another user .*: the kernel does not sample it")
        self.assertNotIn("less than the time between two samples", err)

    def test_program_with_another_environment_has_no_timers(self):
        code, _, err = self.kymo("record", "--sampler", "timers", "-o", "run.kymo", "--", "env", "-i", BIN / "busy", "one",
                                 "600")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "of CPU time was used by programs without samples: .*LD_PRELOAD")
        # One of two programs.
        words = f"env -i {BIN / 'busy'} one 600; {BIN / 'busy'} one {MILLISECONDS}"
        self.assertRegex(self.record_with_timers("sh", "-c", words), "of CPU time was used by programs without samples")
        self.assertNotIn("without samples", self.record_with_timers("sh", "-c", words.replace("env -i", "")))

    def record_with_timers(self, *words):
        code, _, err = self.kymo("record", "--sampler", "timers", "-o", "run.kymo", "--", *words)
        self.assertEqual(code, 0, err)
        return err

    def test_machine_without_gpu_has_one_line_about_counters_if_asked(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU of NVIDIA")
        words = ["-o", "run.kymo", "--", BIN / "busy", "one", MILLISECONDS]
        code, _, err = self.kymo("record", "--gpu-counters", "1kHz", *words)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(re.findall("GPU", err)), 2, err)  # in one line
        self.assertRegex(err, "no GPU counters: this machine has no NVIDIA GPU, or its driver is not loaded")
        code, _, err = self.kymo("record", *words)
        self.assertEqual(code, 0, err)
        self.assertNotIn("GPU", err)

    def test_low_rate_is_not_an_idle_process(self):
        code, _, err = self.kymo("record", "--sample", "1Hz", "--pid", self.running(), "--duration", "300ms", "-o",
                                 "run.kymo")
        if "cannot sample" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertNotIn("did not use a CPU", err)
        if "nothing was recorded" in err:
            self.assertRegex(err, r"process [0-9]+ used the CPU for .*, without a sample at 1 Hz; use a higher rate")

    def test_no_waits_although_they_are_recorded(self):
        pid = self.running()
        code, _, err = self.kymo("record", "--sample-waits", "--pid", pid, "--duration", "500ms", "-o",
                                 "run.kymo")
        if "cannot sample" in err or "no stacks of" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        code, out, err = self.kymo("stats", "run.kymo", "--by", "wait")
        self.assertEqual(code, 0, err)
        self.assertNotIn("run kymo record as root", out)

    def test_rate_that_timers_cannot_have(self):
        tick_hz = 1 / time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
        code, _, err = self.kymo("record", "--sampler", "timers", "--sample", "50kHz", "-o", "run.kymo", "--", "true")
        self.assertEqual(code, 0, err)
        if tick_hz < 50_000:
            self.assertIn("permits no timer at 50 kHz", err)
        code, _, err = self.kymo("record", "--sampler", "timers", "-o", "run.kymo", "--", "true")
        self.assertNotIn("permits no timer", err)

    def test_file_that_cannot_grow(self):
        def record(*words):
            line = f'ulimit -f 8; exec "{BIN / "kymo"}" record --sampler {self.sampler} --sample 10kHz "$@"'
            return self.run_words("sh", "-c", line, "sh", *words)
        code, _, err = record("-o", "run.kymo", "--", BIN / "busy", "one", "800")
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertRegex(err, r"cannot write run\.kymo: ")
        self.assertEqual(code, 1, err)
        code, _, err = record("--strict", "-o", "run.kymo", "--", BIN / "busy", "one", "800")
        self.assertEqual(code, 3, err)
        code, _, err = record("--strict", "-o", "run.kymo", "--", "sh", "-c", f"{BIN / 'busy'} one 800; exit 7")
        self.assertEqual(code, 7, "the failure of the program comes first: " + err)
        _, _, err = self.kymo("stats", "run.kymo")
        self.assertIn("or could not write: a full disk", err)

    def test_python_that_loads_nothing_at_its_start(self):
        code, _, err = self.kymo("record", "--python", "-o", "run.kymo", "--", shutil.which("python3"), "-I", "-c", "pass")
        if "Kymo's Python package" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertTrue(re.search("the Python functions of this program are not recorded: python[0-9.]* -I", err), err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
