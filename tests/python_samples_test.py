#!/usr/bin/env python3
"""Samples of Python programs that nobody changed: their functions and lines are between the native functions.

Each version that is installed is tested: python3 of the distribution, and those that pyenv has.
"""

import json
import pathlib
import subprocess
import sys
import unittest

from recorded_programs import BIN, Recorded, start

PROGRAM = """
import asyncio, os, threading, time
def seventy(n):
    x = 0
    for i in range(n): x += i * 7
def twenty(n):
    x = 0
    for i in range(n): x += i * 7
def ten(n):
    x = 0
    for i in range(n): x += i * 7
def split():
    used = [0, 0, 0]
    while sum(used) < 2.5:
        for which, (function, n) in enumerate(((seventy, 70000), (twenty, 20000), (ten, 10000))):
            begin = time.thread_time()
            function(n)
            used[which] += time.thread_time() - begin
    with open("truth", "w") as file: print(*(one / sum(used) for one in used), file=file)
def burn(n):
    x = 0
    for i in range(n): x += i * 3
    return x
def generator(n):
    for k in range(n): yield burn(20000)
def use_generator(): return sum(generator(100))
def recursive(depth): return burn(2000000) if depth == 0 else recursive(depth - 1)
def by_map(): return list(map(burn, [700000] * 3))
class Thing:
    def method(self): burn(2000000)
def in_thread(): burn(2000000)
def in_child(): burn(2000000)
async def task(): burn(2000000)
def made(k):
    space = {}
    text = f"def made_{k}(n):\\n" + "\\n" * k + "  x = 0\\n  for i in range(n): x += i\\n"
    exec(compile(text, f"<made {k}>", "exec"), space)
    return space[f"made_{k}"]
def dropped():  # the code of a function takes the place of the one before it
    end, k = time.thread_time() + 1.5, 0
    while time.thread_time() < end:
        made(k % 4)(10000 * (1 + k % 4))
        k += 1
def main():
    split(); use_generator(); recursive(60); by_map(); Thing().method(); dropped()
    threads = [threading.Thread(target=in_thread) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    asyncio.run(task())
    pid = os.fork()
    if pid == 0:
        in_child()
        os._exit(0)
    os.waitpid(pid, 0)
main()
"""


EXEC = """import os, sys
left = int(sys.argv[1])
for i in range(20000): pass
for i in range(20): os.read(os.open("/dev/urandom", os.O_RDONLY), 20000)
if left: os.execv(sys.executable, [sys.executable, "-S", "-E", __file__, str(left - 1)])
"""
SYSTEM_CALLS = """import os, time
def reader():
    file = os.open("/dev/urandom", os.O_RDONLY)
    for i in range(400): os.read(file, 200000)
def sleeper():
    for i in range(60): time.sleep(0.003)
def compute():
    for i in range(3000000): pass
reader()
sleeper()
compute()
"""
SIGNALS = """import faulthandler, os, signal, sys
seen = []
signal.signal(signal.SIGTRAP, lambda number, _: seen.append(number))
os.kill(os.getpid(), signal.SIGTRAP)
for i in range(3000000): pass
assert seen == [signal.SIGTRAP], seen
def end_of(function):
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("child.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        function()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])
assert end_of(lambda: os.kill(os.getpid(), signal.SIGSEGV)) == signal.SIGSEGV
faulthandler.enable()
import ctypes
assert end_of(lambda: ctypes.string_at(0)) == signal.SIGSEGV
assert "string_at" in open("child.txt").read()
"""
WAITS = """import threading, time
def inner():
    # One line: whoever has read the word may see the program between the two.
    print("waits", flush=True); time.sleep(600)
def middle():
    return list(map(lambda _: inner(), [1]))
def outer():
    x = 1
    return middle()
def in_thread():
    time.sleep(600)
threading.Thread(target=in_thread, daemon=True).start()
outer()
"""


def versions():
    """By number: those whose layout is known."""
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *pathlib.Path.home().glob(".pyenv/versions/*/bin/python3")]:
        asked = subprocess.run([path, "-c", "import sys; print(sys.version_info[1], sys.version.split()[0])"],
                               capture_output=True, text=True)
        minor, _, version = asked.stdout.strip().partition(" ")
        if asked.returncode == 0 and 9 <= int(minor) <= 13:
            found[version] = str(path)
    return found


class PythonSamples(Recorded):
    def test_functions_of_each_version(self):
        (self.folder / "program.py").write_text(PROGRAM)
        for version, program in versions().items():
            with self.subTest(version=version):
                self.record(program, "program.py")
                self.check(points=0.03)

    def test_system_calls_and_waits_belong_to_their_functions(self):
        (self.folder / "program.py").write_text(SYSTEM_CALLS)
        self.record(sys.executable, "program.py")
        table, rows = self.functions()
        self.assertLessEqual(sum(row["self_ns"] for row in rows.values()), table["cpu_ns"])
        if "get_random_bytes_user" not in rows:
            self.skipTest("the kernel's functions may not be sampled")
        self.assertGreater(rows["reader"]["total_ns"], 0.9 * rows["get_random_bytes_user"]["total_ns"])
        self.assert_path(r";reader;.*;get_random_bytes_user")
        _, out, _ = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "wait", "--json")
        waits = {row["function"]: row["self_ns"] for row in json.loads(out)["functions"]}
        native = sum(ns for function, ns in waits.items() if "nanosleep" in function)
        self.assertGreater(waits.get("sleeper", 0), 4 * native, waits)

    def test_functions_by_timers(self):
        (self.folder / "program.py").write_text(PROGRAM)
        self.sampler = "timers"
        self.record(sys.executable, "program.py")
        self.check(points=0.2)  # a kernel that ticks 100 or 250 times a second gives few samples

    def test_program_that_executes_itself_again_and_again_survives(self):
        (self.folder / "program.py").write_text(EXEC)
        self.record(sys.executable, "program.py", "200")

    def test_program_keeps_its_signals(self):
        (self.folder / "program.py").write_text(SIGNALS)
        self.record(sys.executable, "program.py")

    def test_unknown_version_keeps_native_functions_and_says_so(self):
        program = next(iter(pathlib.Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8")), None)
        if program is None:
            self.skipTest("Python 3.8 is not installed")
        err = self.record(program, "-c", "for i in range(3000000): pass")
        self.assertIn("the functions of Python 3.8", err)
        self.assertIn("_PyEval_EvalFrameDefault", self.functions()[1])

    def test_stack_of_a_running_program(self):
        (self.folder / "waits.py").write_text(WAITS)
        for version, program in versions().items():
            with self.subTest(version=version):
                process = start([program, "waits.py"], self.folder)
                try:
                    process.stdout.readline()
                    code, out, err = self.run_words(BIN / "kymo", "stack", process.pid, "--json")
                finally:
                    process.kill()
                    process.communicate()
                self.assertEqual(code, 0, err)
                threads = [[f"{frame['function']} {pathlib.Path(frame.get('file', '')).name}:{frame.get('line')}"
                            for frame in thread["frames"]] for thread in json.loads(out)[0]["threads"]]
                python = [[frame for frame in frames if "waits.py" in frame] for frames in threads]
                has_class = not version.startswith(("3.9.", "3.10."))  # they know only the innermost name
                begin = ["inner waits.py:4", f"{'middle.<locals>.' if has_class else ''}<lambda> waits.py:6", "middle waits.py:6", "outer waits.py:9", "<module> waits.py:13"]
                self.assertEqual(python[0], begin, threads)
                self.assertEqual(python[1], ["in_thread waits.py:11"], threads)
                self.assertFalse([frame for frame in threads[0] if "EvalFrameDefault" in frame], threads[0])

    def check(self, points):
        table, rows = self.functions()
        truth = [float(word) for word in (self.folder / "truth").read_text().split()]  # about 70, 20 and 10 %
        self.check_shares(rows, dict(zip(("seventy", "twenty", "ten"), truth)), points)
        self.check_shares(rows, {f"made_{k}": (k + 1) / 10 for k in range(4)}, points)
        self.assertTrue(rows["seventy"]["module"].endswith("program.py"), rows["seventy"])
        for k in range(4):
            self.assertTrue(rows[f"made_{k}"]["module"].endswith(f"<made {k}>"), rows[f"made_{k}"])
        method = "Thing.method" if "Thing.method" in rows else "method"  # 3.11 and later know the class
        names = {"use_generator", "generator", "recursive", "by_map", method, "in_thread", "in_child", "task"}
        self.assertLessEqual(names, rows.keys())
        native = rows.get("_PyEval_EvalFrameDefault", {"self_ns": 0})["self_ns"]  # in its callees: system calls
        self.assertLess(native, 0.05 * table["time_ns"])
        self.assert_path(r";<module>;(.*;)?main;(.*;)?recursive;(.*;)?recursive;(.*;)?burn")
        self.assert_path(r";main;(.*;)?use_generator;(.*;)?generator;(.*;)?burn")
        code, out, err = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "line", "--json")
        self.assertEqual(code, 0, err)
        lines = {(pathlib.Path(row.get("file", "")).name, row.get("line")): row["function"]
                 for row in json.loads(out)["lines"]}
        loop = PROGRAM.splitlines().index("def seventy(n):") + 3
        self.assertEqual(lines.get(("program.py", loop)), "seventy", lines)

    def check_shares(self, rows, shares, points):
        self.assertLessEqual(shares.keys(), rows.keys())
        whole = sum(rows[name]["total_ns"] for name in shares)
        for name, share in shares.items():
            self.assertAlmostEqual(rows[name]["total_ns"] / whole, share, delta=points, msg=name)


if __name__ == "__main__":
    unittest.main()
