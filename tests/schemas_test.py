"""What each command prints with --json fits its schema in docs/schemas, and each such command has one."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import schemas
from waiting import wait_until

BUILT = pathlib.Path(os.environ["KYMO_BINARY_DIR"])
KYMO = BUILT / "bin/kymo"
HERE = pathlib.Path(os.environ["KYMO_SOURCE_DIR"]) / "tests"
KINETO = HERE / "data/kineto/torch-2.11-api.json.gz"

TRACES = ["gpu", "in_ranges", "lossy", "memory", "rich", "sampled", "unfinished"]
BY = ["name", "thread", "function", "line", "lock", "kernel", "stall", "wait"]
# The schema of a command that has another name, or several. Those of `kymo fleet` are checked where there are tables.
OTHER_NAMES = {"trigger": ["trigger", "trigger-status", "trigger-cancel"], "info": ["info", "info-capture"],
               "fleet": ["fleet-jobs", "fleet-top", "fleet-stragglers", "fleet-diff", "fleet-history"]}
KERNEL = "kernel void scale(device float* x, constant float& f, uint i [[thread_position_in_grid]]) { x[i] *= f; }\n"


def kymo(folder, *words, stream="stdout"):
    """What the command prints as JSON; None if there is nothing to print (an error says why)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_")} | {"KYMO_SHM_DIR": str(folder)}
    done = subprocess.run([KYMO, *map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
                          stdin=subprocess.DEVNULL)
    text = getattr(done, stream)
    return json.loads(text) if text.strip() else None


def of_traces(folder):
    """(schema, answer) of every command that reads a trace."""
    subprocess.run([BUILT / "bin/golden_traces", folder], check=True, stdout=subprocess.DEVNULL)
    for trace in TRACES:
        file = f"{trace}.kymo"
        for by in BY:
            yield "stats", kymo(folder, "stats", file, "--json", "--by", by)
        for command in ("report", "path", "roofline", "timeline", "flame", "info", "recover"):
            yield command, kymo(folder, command, file, "--json")
        yield "stats", kymo(folder, "stats", file, "--json", "--tree")
        yield "path", kymo(folder, "path", file, "--json", "--what-if", "*=0.5")
        yield "hist", kymo(folder, "hist", file, "*", "--json")
        yield "memory", kymo(folder, "memory", file, "--json")
        yield "memory", kymo(folder, "memory", file, "--json", "--leaks", "--by", "function")
        yield "diff", kymo(folder, "diff", "rich.kymo", file, "--json")
        yield "diff", kymo(folder, "diff", "sampled.kymo", file, "--json")
        yield "flame", kymo(folder, "flame", file, "--compare", "rich.kymo", "--json")
        yield "query", kymo(folder, "query", file, "SELECT * FROM ranges", "--json")
        yield "merge", kymo(folder, "merge", file, "rich.kymo", "-o", "merged.kymo", "--json")
    for command in ("stats", "report", "path", "timeline", "flame", "info"):
        yield command, kymo(folder, command, KINETO, "--json")
    yield "diff", kymo(folder, "diff", "gpu.kymo", "gpu_slow.kymo", "--json")


def of_devices(folder):
    if "devices" not in commands_with_json():
        return
    (folder / "scale.metal").write_text(KERNEL)
    yield "shader", kymo(folder, "shader", "scale.metal", "--json")
    yield "devices", kymo(folder, "devices", "--json")
    if (folder / "small.kycap").exists():
        yield "info-capture", kymo(folder, "info", "small.kycap", "--json")
        yield "replay", kymo(folder, "replay", "small.kycap", "--json")  # None where its device is not here


def of_running_programs(folder):
    yield "record", kymo(folder, "record", "--json", "-o", "run.kymo", "--", "sh", "-c", "true", stream="stderr")
    yield "record", kymo(folder, "record", "--json", "--memory", "-o", "heap.kymo", "--", "ls", stream="stderr")
    (folder / "work.py").write_text("def work():\n    return sum(i * i for i in range(3_000_000))\nwork()\n")
    kymo(folder, "record", "--json", "-o", "python.kymo", "--", sys.executable, folder / "work.py", stream="stderr")
    yield "annotate", kymo(folder, "annotate", "python.kymo", "work", "--json")
    kymo(folder, "record", "--json", "-o", "busy.kymo", "--", BUILT / "bin/busy", "one", "300", stream="stderr")
    yield "annotate", kymo(folder, "annotate", "busy.kymo", "busy_inner", "--asm", "--json")
    yield "doctor", kymo(folder, "doctor", "--json")
    sleeps = subprocess.Popen([sys.executable, "-c", "import threading, time\n"
                               "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\ntime.sleep(600)"])
    yield "stack", kymo(folder, "stack", sleeps.pid, "--json")
    sleeps.kill()
    sleeps.wait()
    socket = folder / "daemon/kymod.sock"
    socket.parent.mkdir(mode=0o700)
    daemon = subprocess.Popen([BUILT / "bin/kymod", "--quiet", "--socket", socket])
    program = None
    try:
        wait_until(lambda: kymo(folder, "ps", "--socket", socket, "--json") is not None, "the daemon answers")
        program = subprocess.Popen([BUILT / "bin/serves"], env=os.environ | {"KYMO_DAEMON": str(socket)})
        wait_until(lambda: kymo(folder, "ps", "--socket", socket, "--json"), "the program is connected")
        at_daemon = ["--socket", socket, "--json"]
        yield "ps", kymo(folder, "ps", *at_daemon)
        yield "trigger", kymo(folder, "trigger", "--all", "--iterations", 3, "-o", folder / "t-{pid}.kymo", *at_daemon)
        yield "trigger", kymo(folder, "trigger", "--pid", 2147483647, "-o", folder / "u-{pid}.kymo", *at_daemon)
        kymo(folder, "trigger", "--all", "--duration", "600s", "--no-wait", "-o", folder / "l-{pid}.kymo", *at_daemon)
        yield "trigger-status", kymo(folder, "trigger", "--status", *at_daemon)
        yield "trigger-cancel", kymo(folder, "trigger", "--cancel", "all", *at_daemon)
        yield "trigger-cancel", kymo(folder, "trigger", "--cancel", "all", *at_daemon)
    finally:
        for process in filter(None, (program, daemon)):
            process.kill()
            process.wait()


def commands_with_json():
    text = subprocess.run([KYMO, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z][a-z-]*)  ", text, re.MULTILINE)
    return [name for name in names
            if "--json" in subprocess.run([KYMO, name, "--help"], capture_output=True, text=True, check=True).stdout]


@unittest.skipIf(schemas.jsonschema is None, "the package jsonschema is not installed for this Python")
class SchemasTest(unittest.TestCase):
    def test_what_commands_print_fits(self):
        answered = set()
        with tempfile.TemporaryDirectory(prefix="kymo-schemas-") as temporary:
            folder = pathlib.Path(temporary)
            for answers in (of_traces, of_devices, of_running_programs):
                for name, answer in answers(folder):
                    if answer is not None:
                        answered.add(name)
                        with self.subTest(name):
                            schemas.check(name, answer)
        for command in commands_with_json():
            for name in OTHER_NAMES.get(command, [command]):
                self.assertTrue((schemas.FOLDER / f"{name}.json").exists(), f"{name} has no schema")
                if command not in ("fleet", "replay"):  # which needs the device of the capture
                    self.assertIn(name, answered, "no answer of it was checked")

    def test_a_wrong_answer_does_not_fit(self):
        with self.assertRaises(schemas.jsonschema.ValidationError):
            schemas.check("stats", {"file": "run.kymo", "rows": [{"name": 7}]})


if __name__ == "__main__":
    if schemas.jsonschema is None:
        print("schemas_test: the package jsonschema is not installed for this Python")
        sys.exit(77)
    unittest.main()
