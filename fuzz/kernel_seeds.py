#!/usr/bin/env python3
"""Writes what translate_fuzz starts from into a folder: the Metal texts that tests and the library are made of.

    fuzz/kernel_seeds.py FOLDER [--device]

--device leaves out the texts of the translator's own tests, which run under the sanitizers themselves.

A string of a test that holds a kernel is one seed, with the standard library; any other string that could be code is
one as the body of a kernel and one as a text of its own, without the library. The first byte is the fuzzer's: its
target, in turn.
"""
import pathlib
import re
import sys

LITERAL = re.compile(r'R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\\n]|\\.)*)"', re.DOTALL)
BODY = "kernel void f(device float* a, device int* b, uint i [[thread_position_in_grid]]) {{\n{}\n}}\n"
WITH_LIBRARY, WITHOUT_LIBRARY = "012", "345"


def texts_of(path):
    for found in LITERAL.finditer(path.read_text()):
        if found["raw"] is not None:
            yield found["raw"]
        else:
            yield found["plain"].replace("\\n", "\n").replace('\\"', '"')


def seeds(root, with_translator_tests):
    device, shader = root / "src/devices/device", root / "src/devices/shader"
    tests = [*device.glob("metal_*_test.cc"), *(shader.rglob("*_test.cc") if with_translator_tests else [])]
    for path in sorted(tests):
        for text in texts_of(path):
            if "kernel" in text:
                yield WITH_LIBRARY, "#include <metal_stdlib>\nusing namespace metal;\n" + text
            elif ";" in text:
                yield WITHOUT_LIBRARY, BODY.format(text)
                yield WITHOUT_LIBRARY, text
    for path in sorted((shader / "library").rglob("*.*")):
        yield WITHOUT_LIBRARY, path.read_text()


def main():
    folder = pathlib.Path(sys.argv[1])
    root = pathlib.Path(__file__).resolve().parent.parent
    for number, (kinds, text) in enumerate(seeds(root, "--device" not in sys.argv)):
        (folder / f"kernel-{number:04}").write_text(kinds[number % len(kinds)] + text)


main()
