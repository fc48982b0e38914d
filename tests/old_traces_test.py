#!/usr/bin/env python3
"""Traces of earlier versions are read, with the same answers: tests/data/format-N has them and what they say.

A file is never changed once its version is released. New fields in an answer are no difference, and texts for people may
become clearer.

    old_traces_test.py --store     writes answers.json of the traces that have none yet
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

KYMO = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin/kymo"
DATA = pathlib.Path(os.environ["KYMO_SOURCE_DIR"]) / "tests/data"
FOR_PEOPLE = {"text", "what", "detail", "error"}
QUESTIONS = ["info", "stats", "stats --by thread", "stats --by function", "memory", "hist *"]


def ask(trace, question):
    command, *options = question.split()
    done = subprocess.run([KYMO, command, trace.name, *options, "--json"], cwd=trace.parent, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr}


def difference(old, new, place):
    """Where `new` does not have what `old` has; None if it has everything."""
    if isinstance(old, dict) and isinstance(new, dict):
        gone = [key for key in old if key not in new]
        if gone:
            return f"{place}: {gone[0]} is gone"
        parts = ((key, old[key], new[key]) for key in old if key not in FOR_PEOPLE)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = zip(range(len(old)), old, new)
    else:
        return None if old == new else f"{place}: was {old!r}, is {new!r}"
    return next(filter(None, (difference(a, b, f"{place}/{key}") for key, a, b in parts)), None)


class OldTracesTest(unittest.TestCase):
    def test_they_say_what_they_said(self):
        checked = 0
        for stored in sorted(DATA.glob("format-*/answers.json")):
            for name, answers in json.loads(stored.read_text()).items():
                for question, answer in answers.items():
                    with self.subTest(trace=name, question=question):
                        self.assertIsNone(difference(answer, ask(stored.parent / name, question), name))
                        checked += 1
        self.assertGreater(checked, 40)

    def test_a_difference_is_found(self):
        self.assertIsNone(difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "new": 3}], "new": 4}, ""))
        for changed in ({}, {"a": [1]}, {"a": [1, {"b": 3}]}, {"a": [1, {}]}):
            self.assertIsNotNone(difference({"a": [1, {"b": 2}]}, changed, ""))


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        for folder in DATA.glob("format-*"):
            if not (folder / "answers.json").exists():
                told = {trace.name: {question: ask(trace, question) for question in QUESTIONS}
                        for trace in sorted(folder.glob("*.kymo"))}
                lines = (f"{json.dumps(name)}: " + json.dumps(answers, ensure_ascii=False) for name, answers in told.items())
                (folder / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    else:
        unittest.main()
