"""The examples in the docstrings of the package run, and print what they say."""
import doctest
import importlib
import os
import pathlib
import tempfile
import unittest

import kymo

# Modules that do something when they are imported.
NOT_IMPORTED = {"kymo.__main__"}


def module_names():
    root = pathlib.Path(kymo.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = ("kymo", *path.relative_to(root).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in NOT_IMPORTED:
            yield name


class DoctestTest(unittest.TestCase):
    def test_examples_print_what_they_say(self):
        for name in module_names():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                before = os.getcwd()
                os.chdir(folder)  # examples may write files
                try:
                    results = doctest.testmod(importlib.import_module(name))
                finally:
                    os.chdir(before)
                self.assertEqual(results.failed, 0)


if __name__ == "__main__":
    unittest.main()
