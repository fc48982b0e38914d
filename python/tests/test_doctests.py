"""The examples in the docstrings of the package run, and print what they say."""
import doctest
import importlib
import os
import pathlib
import tempfile
import unittest

import kymo

# Modules that do something when they are imported.
NOT_IMPORTED = {"kymo.startup.sitecustomize"}
# Modules in C, whose functions have examples too.
IN_C = ("kymo._annotate", "kymo._ondemand")


def module_names():
    root = pathlib.Path(kymo.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = ("kymo", *path.relative_to(root).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in NOT_IMPORTED:
            yield name


def examples_in_c(name):
    """doctest does not look into modules that are not Python."""
    module = importlib.import_module(name)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for attribute, value in vars(module).items():
        text = getattr(value, "__doc__", None)
        if not attribute.startswith("__") and text and ">>>" in text:
            runner.run(parser.get_doctest(text, {}, f"{name}.{attribute}", None, None))
    return runner.summarize(verbose=False)


class DoctestTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        before = os.getcwd()
        os.chdir(folder.name)  # examples may write files
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)

    def test_examples_in_c_print_what_they_say(self):
        for name in IN_C:
            with self.subTest(name):
                results = examples_in_c(name)
                self.assertEqual(results.failed, 0)
                self.assertGreater(results.attempted, 0)

    def test_examples_print_what_they_say(self):
        for name in module_names():
            with self.subTest(name):
                self.assertEqual(doctest.testmod(importlib.import_module(name)).failed, 0)


if __name__ == "__main__":
    unittest.main()
