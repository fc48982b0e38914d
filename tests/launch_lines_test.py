#!/usr/bin/env python3
"""The lines of Python that launched work of a device, in programs that nobody changed: cuda_player plays the device."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from recorded_programs import BIN, Recorded, start

PLAYER = BIN / "cuda_player.so"

# What the driver does in cuInit, and the functions of the player.
BEGIN = f"""import ctypes, os, sys, threading
player = ctypes.CDLL("{PLAYER}")
player.play_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
def launch(name, us): player.play_launch(name.encode(), us * 1000)
"""

LINES = BEGIN + """def two():
    launch("short", 100)
    launch("long", 300)
def deep(depth):
    if depth:
        return deep(depth - 1)
    launch("deep", 200)
def made(k):
    space = {"launch": launch}
    exec(compile(f"def made_{k}():\\n" + "\\n" * k + "  launch('made', 10)\\n", f"made_{k}.py", "exec"), space)
    return space[f"made_{k}"]
def main():
    for _ in range(10):
        two()
    deep(40)
    thread = threading.Thread(target=two)
    thread.start()
    thread.join()
    for k in range(60):  # each takes the place of the one before it
        made(k % 3)()
    player.play_wait()
main()
"""

GRAPH = BEGIN + """
def one():
    launch("one", 100)
def two():
    launch("two", 300)
def model():
    one()
    two()
def main():
    player.play_begin_capture()
    model()
    player.play_end_capture()
    for _ in range(5):
        player.play_replay()
    player.play_wait()
main()
"""

TORCH = "import torch\n" + BEGIN + """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        launch("forward", 100)
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        launch("backward", 200)
        return gradient * 2
def layer(x):
    return Scale.apply(x)
def loss_of(x):
    return x.sum()
def main():
    x = torch.ones(10, requires_grad=True)
    for _ in range(10):
        loss = loss_of(layer(x))
        loss.backward()
    player.play_wait()
main()
"""


def line_of(program, text):
    return 1 + next(i for i, line in enumerate(program.splitlines()) if text in line)


class LaunchLinesTest(Recorded):
    def record_lines(self, program, options=(), environment=None, python=sys.executable):
        """{(file, line, function): microseconds on the device}, and the table."""
        (self.folder / "program.py").write_text(program)
        variables = " ".join(f"{name}={value}" for name, value in {"KYMO_CUPTI": PLAYER, **(environment or {})}.items())
        words = f"{variables} exec {BIN / 'kymo'} record --no-sample -o run.kymo {' '.join(options)} -- {python} program.py"
        code, out, err = self.run_words("sh", "-c", words)
        self.assertEqual(code, 0, err + out)
        return self.lines()

    def lines(self, *options):
        code, out, err = self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "line", "--json", *options)
        self.assertEqual(code, 0, err)
        table = json.loads(out)
        return {(row["file"], row["line"], row["function"].rpartition(".")[2]): row["device_ns"] / 1000
                for row in table["lines"] if row["device_ns"] != 0}, table

    def paths(self):
        code, out, err = self.run_words(BIN / "kymo", "flame", "run.kymo", "--by", "device")
        self.assertEqual(code, 0, err)
        return out

    def setUp(self):
        super().setUp()
        packages = self.folder / "site-packages"
        packages.mkdir()

    def test_each_launch_has_the_line_that_made_it(self):
        lines, table = self.record_lines(LINES)
        # `launch` of the program itself is the innermost function of the user.
        self.assertEqual(table["device_with_line_ns"], table["device_ns"])
        self.assertEqual({key[1:] for key in lines}, {(line_of(LINES, "def launch"), "launch")})
        folded = self.paths()
        self.assertRegex(folded, r";two \(program.py:%d\);launch \(program.py:5\);cuLaunchKernel;short [0-9]+" %
                         line_of(LINES, '"short"'))
        self.assertRegex(folded, r"(;deep \(program.py:\d+\)){41};launch")
        for k in range(3):
            self.assertRegex(folded, r";made_%d \(made_%d.py:%d\);launch \(program.py:5\);cuLaunchKernel;made \d+" % (k, k, k + 2))

    def test_installed_packages_are_not_the_own_code(self):
        package = self.folder / "site-packages" / "helper.py"
        package.write_text("def call(function, *arguments):\n    return function(*arguments)\n" + BEGIN)
        program = f"""import sys
sys.path.insert(0, "{package.parent}")
from helper import launch, call, player
def two():
    launch("short", 100)
    call(launch, "long", 300)
two()
player.play_wait()
"""
        lines, _ = self.record_lines(program)
        self.assertEqual({key[1:]: round(us) for key, us in lines.items()}, {(5, "two"): 100, (6, "two"): 300})
        lines, _ = self.lines("--own", str(package.parent))
        self.assertEqual({pathlib.Path(key[0]).name for key in lines}, {"helper.py"})
        code, out, err = self.run_words(BIN / "kymo", "stats", "run.kymo", "--own", "x")
        self.assertEqual(code, 2)
        self.assertIn("--own is for lines: use it with --by line", err)

    def test_stacks_may_be_left_out(self):
        lines, table = self.record_lines(GRAPH, options=["--python-stacks", "off"])
        self.assertEqual(lines, {})
        self.assertNotEqual(table["device_ns"], 0)

    def test_kernels_of_a_graph_have_the_lines_of_their_capture(self):
        self.record_lines(GRAPH, environment={"KYMO_CUDA_GRAPH_NODES": 1})
        folded = self.paths()
        for name, us in ("one", 500), ("two", 1500):
            self.assertRegex(folded, r"main \(program.py:%d\);model \(program.py:\d+\);%s \(program.py:%d\);"
                             r"launch \(program.py:5\);cuLaunchKernel;%s %d\d\d\d\n" %
                             (line_of(GRAPH, "    model()"), name, line_of(GRAPH, f'"{name}"'), name, us))

    def test_a_graph_has_the_line_of_its_capture(self):
        lines, table = self.record_lines(GRAPH)
        self.assertEqual(table["device_with_line_ns"], table["device_ns"])
        self.assertEqual({key[1:] for key in lines}, {(line_of(GRAPH, "    model()"), "main")})

    def test_a_thread_without_python_has_what_the_main_thread_does(self):
        program = BEGIN + """import time
def compile_it():
    player.play_launch_elsewhere(b"elsewhere", 100000)
compile_it()
player.play_wait()
"""
        lines, table = self.record_lines(program)
        if sys.version_info < (3, 11):
            self.skipTest("this Python does not know the numbers of its threads")
        self.assertEqual(table["device_with_line_ns"], table["device_ns"])
        self.assertEqual({key[1:] for key in lines}, {(line_of(program, '"elsewhere"'), "compile_it (by another thread)")})

    def test_a_backward_function_has_the_line_of_its_forward_operator(self):
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{python} has no torch")
        self.record_lines(TORCH, python=python)
        folded = self.paths()
        self.assertRegex(folded, r"main \(program.py:%d\);layer \(program.py:%d\);(?!.*backward\)).*;forward [0-9]+" %
                         (line_of(TORCH, "loss = "), line_of(TORCH, "Scale.apply")))
        self.assertRegex(folded, r"main \(program.py:%d\);layer \(program.py:%d\);.*\(backward\);.*;backward [0-9]+" %
                         (line_of(TORCH, "loss = "), line_of(TORCH, "Scale.apply")))


if __name__ == "__main__":
    unittest.main()
