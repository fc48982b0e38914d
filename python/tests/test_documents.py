"""The Python examples of the README and of the pages about Python run as they are written."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import traces

ROOT = pathlib.Path(os.environ["KYMO_SOURCE_DIR"])

# What an example needs, and the reader of the page has.
BEFORE = {
    "docs/python-reading.md": """
        import importlib.util
        import kymo.reading
        with kymo.Session("run.kymo"), kymo.nvtx.range("step {}", 7):
            pass
        for module, name in ("pandas", "to_pandas"), ("pyarrow", "to_arrow"):
            if importlib.util.find_spec(module) is None:
                setattr(kymo.reading.Trace, name, lambda self: None)
    """,
}
# What must hold after it.
AFTER = {
    "docs/python-reading.md": """
        assert len(trace.durations("step {}")) == 1
    """,
}
PAGES = ("README.md", "docs/python.md", "docs/python-mps.md", "docs/python-reading.md")


def examples(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


class DocumentTest(unittest.TestCase):
    def test_examples_run(self):
        for page in PAGES:
            found = examples(page)
            self.assertTrue(found, page)
            for text in found:
                with self.subTest(page), tempfile.TemporaryDirectory() as folder:
                    if ".query(" in text and (reason := traces.missing_duckdb()):
                        self.skipTest(reason)
                    script = pathlib.Path(folder) / "example.py"
                    script.write_text(textwrap.dedent(BEFORE.get(page, "")) + text + textwrap.dedent(AFTER.get(page, "")),
                                      encoding="utf-8")
                    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True,
                                          timeout=600)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    if page == "README.md":
                        self.assertRegex(done.stdout, r"^\[[\d. ]+\] ms\n$")
                    if page == "docs/python-mps.md":
                        # A comment behind print() says what it prints.
                        for shown in re.findall(r"^print\(.*\) +# (.*)$", text, re.MULTILINE) or ["3.14"]:
                            self.assertIn(shown, done.stdout)
                    if page == "docs/python-reading.md":
                        self.assertIn("\n[]\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
