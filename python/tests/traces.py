"""For the tests: records Python code, here or in a process of its own, and reads what was recorded."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import kymo
from kymo import command

KYMO = os.environ.get("KYMO_COMMAND") or pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin" / "kymo"
# AddressSanitizer keeps freed memory for a while, so memory is not flat.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


def missing_duckdb():
    """Why `query` cannot run here, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "empty.json"
        path.write_text("[]", encoding="utf-8")
        done = subprocess.run([KYMO, "query", path, "SELECT 1"], capture_output=True, text=True)
    return done.stderr.strip() if "DuckDB is not installed" in done.stderr else None


class Trace:
    """The events of a trace, as its export to Chrome JSON has them."""

    def __init__(self, path):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "trace.json"
            command.run("export", path, "-o", out)
            self.events = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]

    def ranges(self, name=None):
        """Ranges of threads, in the order of their start."""
        found = [event for event in self.events if event["ph"] == "X" and name in (None, event["name"])]
        return sorted(found, key=lambda event: (event["ts"], -event["dur"]))

    def names(self):
        return [event["name"] for event in self.ranges()]

    def async_names(self):
        return [event["name"] for event in self.events if event["ph"] == "b"]

    def marks(self):
        return [event["name"] for event in self.events if event["ph"] in "iI"]

    def thread_names(self):
        return {event["args"]["name"] for event in self.events if event["ph"] == "M" and event["name"] == "thread_name"}

    def losses(self):
        return [event for event in self.events if "loss" in event["name"].lower()]


@contextlib.contextmanager
def recorded():
    """`with recorded() as trace:` records the body; trace() reads it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test.kymo")
        result = []
        with kymo.Session(path):
            yield lambda: result[0]
        result.append(Trace(path))


def python(code, *arguments, env=None, check=True, interpreter=(sys.executable,)):
    """Runs a script in a process of its own. Returns what subprocess.run returns."""
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.py")
        pathlib.Path(script).write_text(textwrap.dedent(code), encoding="utf-8")
        done = subprocess.run([*interpreter, "-X", "faulthandler", script, *arguments], capture_output=True, text=True,
                              env={**os.environ, **(env or {})}, timeout=600)
    if check and done.returncode != 0:
        raise AssertionError(f"the script ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done
