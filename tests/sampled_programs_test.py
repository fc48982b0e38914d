#!/usr/bin/env python3
"""Samples of programs of the distribution: their functions are those that perf finds. Also of files that are lost.

Shares of CPU time are compared with a wide margin: the machine may be busy, and the runs are short.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from recorded_programs import BIN, MILLISECONDS, Recorded

MARGIN = 0.2
RUNS = "until grep -q /copy /proc/$!/maps; do sleep 0.05; done"  # the copy, and no longer the shell


def remove_maps(function):
    for path in pathlib.Path("/tmp").glob("perf-*.map"):
        with contextlib.suppress(OSError):
            if function in path.read_text(errors="replace"):
                path.unlink()


class EachSampler:
    def test_xz(self):
        data = self.folder / "data"
        data.write_bytes(os.urandom(1 << 20) * 2)
        self.compare("liblzma", self.installed("xz"), "-kf", "-6", data)

    def test_sqlite3(self):
        query = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) select sum(i) from n;"
        self.compare("sqlite", self.installed("sqlite3"), ":memory:", query)

    def test_compiler(self):
        source = self.folder / "a.cc"
        source.write_text("#include <map>\n#include <regex>\nint main() { return std::regex_match(\"a\", std::regex(\"b\")); }\n")
        self.compare("cc1plus", self.installed("g++"), "-c", source, "-o", self.folder / "a.o")

    def test_python(self):
        self.compare("python", sys.executable, "-S", "-c", "sum(len(str(i)) for i in range(3_000_000))")

    def test_functions_that_node_compiles(self):
        source = self.folder / "work.js"
        source.write_text("""function planted_loop(n) { let sum = 0; for (let i = 0; i < n; i++) sum += Math.sqrt(i) % 7; return sum; }
let all = 0; for (let k = 0; k < 40; k++) all += planted_loop(1e6); console.log(all);""")
        self.assert_compiled("node", self.installed("node"), source)

    def test_functions_that_java_compiles(self):
        source = self.folder / "Work.java"
        source.write_text("""public class Work {
  static double planted_loop(int n) { double sum = 0; for (int i = 0; i < n; i++) sum += Math.sqrt(i) % 7; return sum; }
  public static void main(String[] words) {
    double all = 0; for (int k = 0; k < 40; k++) all += planted_loop(1000000); System.out.println(all);
  }
}""")
        self.installed("javac")
        self.assert_compiled("java", self.installed("java"), source)

    def assert_compiled(self, runtime, *words):
        self.addCleanup(remove_maps, "planted_loop")
        self.record(*words, options=("--with", runtime))
        _, rows = self.functions()
        named = [name for name in rows if "planted_loop" in name]
        self.assertTrue(named, rows.keys())
        self.assertGreater(sum(rows[name]["total_ns"] for name in named), 0, rows)

    def compare(self, module, *words):
        self.record(*words)
        rows = self.assert_complete()
        own = self.share_of(module, rows)
        self.assertGreater(own, 0, rows.keys())
        peer = self.share_by_perf(module, *words)
        if peer is not None:
            self.assertAlmostEqual(own, peer, delta=MARGIN, msg=f"perf: {peer}, rows: {list(rows)[:20]}")

    def share_of(self, module, rows):
        """Of the samples outside of the kernel, which timers do not see."""
        user = [row for row in rows.values() if row["module"] != "[kernel]"]
        inside = sum(row["self_samples"] for row in user  # Python functions have no module, but a file
                     if module in row["module"].rsplit("/")[-1] or module == "python" and row["module"] == "<string>")
        return inside / max(sum(row["self_samples"] for row in user), 1)

    def share_by_perf(self, module, *words):
        perf = shutil.which("perf")
        if perf is None:
            return None
        code, _, _ = self.run_words(perf, "record", "-q", "-e", "cpu-clock:u", "-F", "1000", "-o", "perf.data", "--", *words)
        if code != 0:
            return None
        _, report, _ = self.run_words(perf, "report", "-i", "perf.data", "--stdio", "--no-children", "-F", "overhead,dso",
                                      "-t", ";")
        shares = [(name, float(share)) for share, name in re.findall(r"^\s*([0-9.]+)%\s*;\s*(\S.*?)\s*$", report, re.M)]
        self.assertTrue(shares, report)
        user = [(name, share) for name, share in shares if not name.startswith("[kernel")]
        return sum(share for name, share in user if module in name) / max(sum(share for _, share in user), 0.1)

    def test_code_that_a_program_makes_has_the_names_of_its_map(self):
        loop = {"x86_64": "48ffcf75fbc3", "aarch64": "000400f1e1ffff54c0035fd6"}.get(os.uname().machine)  # counts down
        if loop is None:
            self.skipTest("no code for this processor")
        script = self.folder / "made.py"
        script.write_text("import ctypes, mmap, os, sys\n"
                          "memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
                          f"memory.write(bytes.fromhex('{loop}'))\n"
                          "address = ctypes.addressof(ctypes.c_char.from_buffer(memory))\n"
                          "name = f'/tmp/perf-{os.getpid()}.map'\n"
                          "print(name)\n"
                          "open(name, 'w').write(f'{address:x} 20 made_by_the_program main.js:7\\n')\n"
                          "ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)(int(8e8))\n")
        code, out, err = self.run_words(BIN / "kymo", "record", "--sampler", self.sampler, "-o", "run.kymo", "--",
                                        sys.executable, "-S", script)
        pathlib.Path(out.strip()).unlink(missing_ok=True)
        if "no CPU samples" in err:
            self.skipTest(err.strip())
        self.assertEqual(code, 0, err)
        self.assertGreater(self.functions()[1]["made_by_the_program main.js:7"]["self_samples"], 0)

    def test_program_that_is_removed_while_it_runs(self):
        shutil.copy(BIN / "busy", self.folder / "copy")
        self.record("sh", "-c", f"./copy one 800 & {RUNS}; rm copy; wait")
        rows = self.functions()[1]
        self.assertGreater(rows["busy_inner"]["self_samples"], 0, rows)
        self.assertEqual(rows["busy_inner"]["module"], str(self.folder / "copy"))
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_program_that_is_replaced_while_it_runs(self):
        shutil.copy(BIN / "busy", self.folder / "copy")
        self.record("sh", "-c", f"./copy one 800 & {RUNS}; cp {BIN / 'guest'} new; mv new copy; wait")
        self.assert_path(r"main;busy_outer;busy_inner")

    def test_program_that_is_removed_afterwards(self):
        shutil.copy(BIN / "busy", self.folder / "copy")
        self.record(self.folder / "copy", "one", MILLISECONDS)
        (self.folder / "copy").unlink()
        self.assert_path(r"main;busy_outer;busy_inner")
        table, rows = self.functions()
        self.assertEqual(table["missing_files"], [])
        self.assertEqual(rows["busy_inner"]["module"], str(self.folder / "copy"))

    def test_lines_of_a_program_that_was_built_again(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("no compiler")
        source = self.folder / "lines.c"
        source.write_text("#include <unistd.h>\nvolatile unsigned long sum;\nint main(void) {\n"
                          "  for (unsigned long i = 0; i < 300000000; ++i)\n    sum += i;\n"
                          "  usleep(100000);\n  return 0;\n}\n")
        for _ in range(2):
            if subprocess.run([compiler, "-g", "-O1", "-o", self.folder / "lines", source]).returncode != 0:
                self.skipTest("the compiler makes no programs")
            if not (self.folder / "run.kymo").exists():
                self.record(self.folder / "lines")
            source.write_text("int main(void) { return 0; }\n")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "line", "--json")
        rows = {row["line"]: row for row in json.loads(out)["lines"] if row.get("file") == str(source)}
        busy = sum(row["self_ns"] for line, row in rows.items() if line in (4, 5))
        self.assertGreater(busy, 0.9 * sum(row["self_ns"] for row in rows.values()))
        self.assertEqual({row["function"] for row in rows.values()}, {"main"})
        if self.sampler == "kernel" and any(row["waiting_ns"] for row in json.loads(out)["lines"] if "line" in row):
            self.assertGreaterEqual(rows[6]["waiting_ns"], 100_000_000)

    def annotate(self, *options):
        return self.run_words(BIN / "kymo", "annotate", "run.kymo", *options)

    def test_source_and_instructions_with_their_times(self):
        compiler = self.installed("cc")
        source = self.folder / "lines.c"
        source.write_text("volatile unsigned long sum;\n__attribute__((noinline)) void work(void) {\n"
                          "  for (unsigned long i = 0; i < 300000000; ++i)\n\tsum += i;\n}\nint main(void) {\n"
                          "  work();\n  return 0;\n}\n")
        build = (compiler, "-g", "-O1", "-o", self.folder / "lines", source)
        if subprocess.run(build).returncode != 0:
            self.skipTest("the compiler makes no programs")
        self.record(self.folder / "lines")
        self.assertRegex(self.annotate("work")[1], r"[0-9.]+ ms +[0-9,]+ +[0-9.]+ ms +4 +sum \+= i;\n")
        code, out, err = self.annotate("work", "--json")
        self.assertEqual(code, 0, err)
        (work,) = json.loads(out)["functions"]
        rows = {row["line"]: row for row in work["lines"]}
        self.assertEqual(rows[4]["text"].strip(), "sum += i;")
        self.assertGreater(rows[3]["self_ns"] + rows[4]["self_ns"] if 3 in rows else rows[4]["self_ns"], 0)
        (main,) = json.loads(self.annotate("main", "--json")[1])["functions"]
        rows = {row["line"]: row for row in main["lines"]}
        self.assertGreaterEqual(rows[7]["total_ns"], 0.9 * work["self_ns"], "the line that calls it")
        self.assertLess(rows[7]["self_ns"], rows[7]["total_ns"])
        if shutil.which("objdump"):
            code, out, err = self.annotate("work", "--asm", "--json")
            self.assertEqual(code, 0, err)
            (asm,) = json.loads(out)["code"]
            self.assertEqual(asm["self_samples"], work["self_samples"])
            self.assertEqual(sum(one.get("self_samples", 0) for one in asm["instructions"]), work["self_samples"])
            self.assertTrue(any(one.get("line") == 4 and one.get("self_samples") for one in asm["instructions"]), out)
        code, _, err = self.annotate("wrok")
        self.assertEqual(code, 1)
        self.assertRegex(err, 'no sample has a function "wrok" on its stack; did you mean .*work')
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(build, check=True)
        self.assertIn("was removed or built again", self.annotate("work", "--asm")[2])
        source.unlink()
        code, _, err = self.annotate("work")
        self.assertEqual(code, 1)
        self.assertIn(f"the source of 'work' is not here: {source}", err)


class KernelTest(EachSampler, Recorded):
    def test_library_that_is_removed_before_it_is_used(self):
        shutil.copy(BIN / "libbusy.so", self.folder / "libgone.so")
        self.record(sys.executable, "-S", "-c", "import ctypes, os\nlibrary = ctypes.CDLL('./libgone.so')\n"
                    "os.unlink('libgone.so')\nlibrary.busy_outer(%s)\n" % MILLISECONDS)
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo")
        if os.geteuid() == 0:  # only root may open what has no path any more
            self.assertIn("busy_inner", self.functions()[1])
            self.assertNotIn("have no names", out)
        else:
            self.assertIn("libgone.so have no names: the file was removed or replaced", out)

    def test_functions_that_wait(self):
        err = self.record("sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS}; {BIN / 'busy'} sleep 200", options=("--sample-waits",))
        if "no stacks of waits" in err:
            self.skipTest(err)
        rows = self.recorded_waits(err)
        self.assertGreaterEqual(rows["busy_sleep"]["self_ns"], 200_000_000)
        self.assertNotIn("schedule", rows, "all waits end there")
        self.assertNotIn("clock_nanosleep", rows, "the program does not say more with it")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "wait")
        self.assertRegex(out, r"[0-9]+ waits: .* of the .* off the CPU of [0-9]+ threads?")
        _, out, _ = self.run_words(BIN / "kymo", "flame", "run.kymo", "--by", "wait")
        self.assertRegex(out, r"main;busy_sleep;.* [0-9]{9,}\n")
        self.assertIn("busy_inner", self.functions()[1], "the CPU is sampled as always")
        on_cpu = self.functions()[1].get("busy_sleep", {"total_ns": 0})["total_ns"]  # the system call itself
        self.assertLess(on_cpu, rows["busy_sleep"]["total_ns"] / 2)

    def test_long_wait_is_found_by_default(self):
        err = self.record("sh", "-c", f"{BIN / 'busy'} one {MILLISECONDS}; {BIN / 'busy'} sleep 300")
        _, out, _ = self.run_words(BIN / "kymo", "info", "run.kymo")
        if "some waits" not in out:
            self.skipTest("the kernel permits no stacks of waits")
        rows = self.recorded_waits(err)
        self.assertGreaterEqual(rows["busy_sleep"]["self_ns"], 300_000_000)
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "wait", "--json")
        table = json.loads(out)
        self.assertEqual(sum(row["self_ns"] for row in table["functions"]), table["time_ns"])
        # Preemptions are not waits. The time from the end of a wait until the thread runs is a part of both.
        self.assertGreaterEqual(table["time_ns"], table["off_cpu_ns"] - table["preempted_ns"])
        self.assertLessEqual(table["time_ns"], table["off_cpu_ns"])

    def test_threads_that_could_go_on_do_not_use_up_the_stacks_of_waits(self):
        if tuple(int(part) for part in re.findall(r"[0-9]+", os.uname().release)[:2]) < (5, 18):
            self.skipTest("before Linux 5.18 the kernel does not say in time which threads could go on")
        err = self.record(BIN / "busy", "crowd", "0")
        if "with a stack" not in err and not re.search("[0-9] waits", err):
            self.skipTest("the kernel permits no stacks of waits")
        rows = self.recorded_waits(err)
        self.assertGreaterEqual(rows["busy_lock"]["self_samples"], 25, "of 30 waits for the mutex")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "wait", "--json")
        table = json.loads(out)
        self.assertGreater(table["preempted_ns"], 0)
        self.assertLess(table["waits_without_stack"], 5)
        self.assertLess(rows.get("crowd_worker", {"self_samples": 0})["self_samples"], 5, "it never waits")

    def test_few_of_many_waits_have_stacks(self):
        err = self.record(sys.executable, "-S", "-c", "import time\nfor i in range(3000): time.sleep(0.00001)")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "wait")
        if "no stacks of waits" in out:
            self.skipTest("the kernel permits no stacks of waits")
        self.assertRegex(err, r"[0-9],[0-9]{3} waits \([0-9]{2,3} with a stack\)")
        self.assertIn("(no stack)", out)
        self.assertRegex(out, r"[0-9]{2,3} of [0-9],[0-9]{3} waits have a stack; kymo record --sample-waits takes all")

    def test_wait_that_is_longer_than_a_flight_recorder(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--sampler", self.sampler, "-o", "run.kymo", "--sample-waits",
                                      "--flight", "1s", "--", BIN / "busy", "sleep", "4000")
        if "no stacks of waits" in err or "no CPU samples" in err:
            self.skipTest(err)
        self.assertEqual(code, 0, err)
        self.assertIn("busy_sleep", self.recorded_waits(err))
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "thread", "--json")
        for row in json.loads(out)["rows"]:
            self.assertLessEqual(row["life_ns"], 1_100_000_000, row)

    def recorded_waits(self, err):
        """By function. As many are in the trace as the summary says."""
        said = re.search(r"[0-9]+ samples?.*, ([1-9][0-9,]*) waits?( \([0-9,]+ with a stack\))? from", err)
        self.assertTrue(said, err)
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "wait", "--json")
        table = json.loads(out)
        self.assertEqual(int(said[1].replace(",", "")), table["samples"])
        return {row["function"]: row for row in table["functions"]}


class TimersTest(EachSampler, Recorded):
    sampler = "timers"

    def test_waits_need_the_kernel(self):
        err = self.record(BIN / "busy", "one", MILLISECONDS, options=("--sample-waits",))
        self.assertIn("--sample-waits needs samples of the kernel", err)

    def test_waits_without_samples_are_refused(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "--sample-waits", "--", "true")
        self.assertEqual(code, 2)
        self.assertIn("--sample-waits has no effect without samples", err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
