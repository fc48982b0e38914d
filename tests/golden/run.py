#!/usr/bin/env python3
"""Runs a command and compares what it says, word by word, with what it is expected to say.

A case is a few text files in core/, devices/, fleet/ (by the part that it needs) or whole/ (all parts):

    NAME.cmd   the command line for sh, which may use ../wait_until.sh, after settings and comments:
                   # what the case is about
                   exit: 3                 the expected exit code, 0 unless given
                   terminal: 60            standard output is a terminal of so many columns, not a pipe
                   skip: REGEX             where standard error has this, the case says so and is skipped
                   mask: REGEX             what differs from machine to machine shows as <...> (may be repeated)
    NAME.out   the expected standard output; absent: nothing
    NAME.err   the expected standard error; absent: nothing

It runs in an empty folder that holds copies of the traces, so that paths in the output are relative and the same
everywhere.

    run.py --bin FOLDER --traces FOLDER [--update] [CASE.cmd|FOLDER...]

Without a case it runs all, several at once, and ends with one line that counts them.

--update writes what came out to NAME.out and NAME.err; look at the difference before you commit it.
"""

import argparse
import concurrent.futures
import difflib
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

LIMIT_SECONDS = 300  # of a case; all of them together have 600
WAIT_UNTIL = (pathlib.Path(__file__).resolve().parent.parent / "wait_until.sh").read_text()


class Case:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.exit_code, self.columns, self.masks, self.skip = 0, None, [], None
        lines = []
        for line in self.path.read_text().splitlines():
            setting, _, value = line.partition(": ")
            if line.startswith("#") or not line.strip():
                continue
            if setting == "exit":
                self.exit_code = int(value)
            elif setting == "terminal":
                self.columns = int(value)
            elif setting == "skip":
                self.skip = re.compile(value)
            elif setting == "mask":
                self.masks.append(re.compile(value))
            else:
                lines.append(line)
        self.command = "\n".join(lines)

    def expected(self, suffix):
        path = self.path.with_suffix(suffix)
        return path.read_text() if path.exists() else ""

    def masked(self, raw):
        text = raw.decode("utf-8", "backslashreplace")
        for mask in self.masks:
            text = mask.sub("<...>", text)
        return text

    def update(self, suffix, text):
        path = self.path.with_suffix(suffix)
        if text:
            path.write_text(text)
        elif path.exists():
            path.unlink()


def environment(bin_folder, memory):
    """Everything but what would change the output; shared memory of its own, so that cases do not meet."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_") and k not in ("NO_COLOR", "COLUMNS")}
    kept.update(PATH=f"{bin_folder}:{os.environ['PATH']}", TZ="UTC", LC_ALL="C.UTF-8", TERM="xterm", KYMO_SHM_DIR=memory)
    kept.setdefault("KYMO_SAMPLE", "off")  # the number of samples is never the same; a case may set another rate
    return kept


def run_in_terminal(command, columns, **options):
    """Like subprocess.run, with a terminal for standard output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, **options)
    os.close(theirs)
    out = b""
    try:
        while part := os.read(ours, 65536):
            out += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    _, err = process.communicate(timeout=LIMIT_SECONDS)
    return out.replace(b"\r\n", b"\n"), err, process.returncode


def run(case, bin_folder, traces):
    with tempfile.TemporaryDirectory(prefix="kymo-golden-") as folder, tempfile.TemporaryDirectory() as memory:
        shutil.copytree(traces, folder, dirs_exist_ok=True)
        command = ["sh", "-c", WAIT_UNTIL + case.command]
        options = dict(cwd=folder, env=environment(bin_folder, memory), stdin=subprocess.DEVNULL, start_new_session=True)
        if case.columns:
            return run_in_terminal(command, case.columns, **options)
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS, **options)
        return done.stdout, done.stderr, done.returncode


def differences(case, suffix, actual):
    expected = case.expected(suffix)
    if expected == actual:
        return ""
    name = case.path.with_suffix(suffix).name
    lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), f"{name} (expected)", "now", lineterm="")
    return "\n".join(lines) + "\n"


def check(case, arguments):
    """What is wrong with it, or "SKIPPED: why", or nothing."""
    try:
        out, err, exit_code = run(case, arguments.bin.resolve(), arguments.traces)
    except subprocess.TimeoutExpired:
        return f"{case.path.name}: {case.command}\nnot done after {LIMIT_SECONDS} s\n"
    out, err = case.masked(out), case.masked(err)
    if case.skip and (reason := case.skip.search(err)):
        return f"SKIPPED: {case.path.name}: {reason.group()}"
    report = ""
    if exit_code != case.exit_code:
        report += f"exit code {exit_code}, not {case.exit_code}\n"
    if arguments.update:
        case.update(".out", out)
        case.update(".err", err)
    else:
        report += differences(case, ".out", out) + differences(case, ".err", err)
    return f"{case.path.name}: {case.command}\n{report}" if report else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of kymo")
    parser.add_argument("--traces", type=pathlib.Path, required=True, help="what golden_traces wrote")
    parser.add_argument("--update", action="store_true", help="take what comes out as expected")
    parser.add_argument("cases", nargs="*", metavar="CASE.cmd|FOLDER", type=pathlib.Path)
    arguments = parser.parse_args()
    given = arguments.cases or [pathlib.Path(__file__).parent / part for part in ("core", "devices", "fleet", "whole")]
    paths = [path for one in given for path in (sorted(one.glob("*.cmd")) if one.is_dir() else [one])]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 1)) as pool:
        reports = [report for report in pool.map(lambda path: check(Case(path), arguments), paths) if report]
    for report in reports:
        print(report)
    skipped = sum(report.startswith("SKIPPED: ") for report in reports)
    failed = len(reports) - skipped
    print(f"golden: {len(paths) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
