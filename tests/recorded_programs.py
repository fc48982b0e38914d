"""What the tests of recorded programs share: a folder, `kymo record`, and the functions of a trace."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from waiting import wait_until

BIN = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin"
LIMIT = 600
MILLISECONDS = "300"


def start(words, folder, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_")}
    environment["KYMO_SHM_DIR"] = str(folder)
    return subprocess.Popen([str(word) for word in words], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)


def wait_until_it_samples(recorder):
    """Or until it has ended, because it cannot."""
    def samples():
        with contextlib.suppress(OSError):
            return any("perf_event" in os.readlink(file) for file in pathlib.Path(f"/proc/{recorder.pid}/fd").iterdir())

    wait_until(lambda: recorder.poll() is not None or samples(), "the recorder samples")


def wait_until_it_worked(pid, seconds):
    """Of CPU time, from now on."""
    def used():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    end = used() + seconds
    wait_until(lambda: used() >= end, f"process {pid} uses {seconds} s of CPU time")


class Recorded(unittest.TestCase):
    sampler = "kernel"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kymo-sampling-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_words(self, *words):
        process = start(words, self.folder)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    def record(self, *words, options=()):
        code, out, err = self.run_words(BIN / "kymo", "record", "--sampler", self.sampler, "-o", "run.kymo", *options,
                                        "--", *words)
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"[1-9][0-9,]* samples?(,| from| \(the last of)", err)
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
