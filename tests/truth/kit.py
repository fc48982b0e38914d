"""Traces together with their right answers, and a check of what `kymo` answers about them.

A topic is a file beside this one with a function `check(case)`. It builds traces from the random numbers of the case, and
knows the answers because it made them, not because it analyzed them:

    def check(case):
        trace = Trace()
        main = trace.thread(pid=1, tid=1, name="main")
        main.range("outer", 0, 100)
        main.range("inner", 20, 50)
        rows = case.json("stats", trace.write(case.folder / "run.json"))["rows"]
        case.equal("self time of outer", rows[0]["self_ns"], 70)

All times are nanoseconds from the begin of the trace. `run.py` runs a topic with many seeds.
"""

import json
import os
import pathlib
import random
import subprocess

BIN = pathlib.Path(os.environ.get("KYMO_BINARY_DIR", "build/release")) / "bin"
LIMIT_SECONDS = 600


class Trace:
    """A trace under construction, in Chrome's JSON as PyTorch writes it."""

    def __init__(self, base_ns=1_700_000_000_000_000_000, **head):
        """`head` are more fields of the file. base_ns=None: a file without baseTimeNanoseconds."""
        self.events = []
        self.head = dict(head)
        if base_ns is not None:
            self.head["baseTimeNanoseconds"] = base_ns

    def thread(self, pid, tid, name=None):
        if name:
            self.event("M", "thread_name", pid, tid, None, args={"name": name})
        return Thread(self, pid, tid)

    def stream(self, device, number, pid=None):
        """A queue of a device."""
        return Stream(self, device if pid is None else pid, number, device)

    def process_name(self, pid, name):
        self.event("M", "process_name", pid, 0, None, args={"name": name})

    def flow(self, number, sender, sent, receiver, received, name="flow", cat="flow"):
        """An arrow from a time of one thread to a time of another."""
        self.event("s", name, sender.pid, sender.tid, sent, cat=cat, id=number)
        self.event("f", name, receiver.pid, receiver.tid, received, cat=cat, id=number, bp="e")

    def event(self, phase, name, pid, tid, time, **more):
        one = {"ph": phase, "name": name, "pid": pid, "tid": tid, **more}
        if time is not None:
            one["ts"] = microseconds(time)
        self.events.append(one)

    def write(self, path):
        # Numbers as text: a double cannot hold the nanoseconds of an absolute time.
        text = json.dumps({**self.head, "traceEvents": self.events}, default=str)
        path.write_text(text.replace('"\\u0000', "").replace('\\u0000"', ""))
        return path


class Thread:
    def __init__(self, trace, pid, tid):
        self.trace, self.pid, self.tid = trace, pid, tid

    def range(self, name, begin, end, cat="user_annotation", **args):
        self.trace.event("X", name, self.pid, self.tid, begin, dur=microseconds(end - begin), cat=cat, args=args)

    def open_range(self, name, begin, cat="user_annotation"):
        """A range that never ends."""
        self.trace.event("B", name, self.pid, self.tid, begin, cat=cat)

    def async_range(self, name, begin, end, number, cat="async"):
        self.trace.event("b", name, self.pid, self.tid, begin, cat=cat, id=number)
        self.trace.event("e", name, self.pid, self.tid, end, cat=cat, id=number)

    def instant(self, name, time, cat="user_annotation"):
        self.trace.event("i", name, self.pid, self.tid, time, cat=cat, s="t")

    def counter(self, name, time, value):
        self.trace.event("C", name, self.pid, self.tid, time, args={name: value})

    def call(self, name, begin, end, correlation, cat="cuda_runtime"):
        """A call of a device's interface: a launch, a copy, a wait."""
        self.range(name, begin, end, cat=cat, correlation=correlation)


class Stream(Thread):
    def __init__(self, trace, pid, number, device):
        super().__init__(trace, pid, number)
        self.device = device

    def work(self, name, begin, end, correlation=None, cat="kernel", **args):
        """A kernel, or with another category a copy ("gpu_memcpy") or a fill ("gpu_memset")."""
        if correlation is not None:
            args["correlation"] = correlation
        self.range(name, begin, end, cat=cat, device=self.device, stream=self.tid, **args)


def microseconds(ns):
    return f"\0{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}\0"


class Case:
    """One seed: its random numbers, its folder, and the answers that were wrong."""

    def __init__(self, seed, folder):
        self.seed, self.folder = seed, pathlib.Path(folder)
        self.random = random.Random(seed)
        self.wrong = []
        self.checked = 0

    def run(self, *words, exit_code=0):
        """What a command prints. Its exit code must be as given."""
        words = [str(BIN / "kymo"), *map(str, words)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        self.true(f"exit code {done.returncode} is {exit_code}: {' '.join(words)}: {done.stderr}",
                  done.returncode == exit_code)
        return done.stdout

    def json(self, *words, exit_code=0):
        return json.loads(self.run(*words, "--json", exit_code=exit_code))

    def true(self, what, holds):
        self.checked += 1
        if not holds:
            self.wrong.append(what)

    def equal(self, what, got, want, tolerance=0):
        """`tolerance` is a share of the right answer: 0.004 where lengths are kept as a histogram."""
        is_number = isinstance(want, (int, float)) and isinstance(got, (int, float))
        near = is_number and abs(got - want) <= tolerance * abs(want)
        self.true(f"{what}: kymo says {got}, right is {want}", near or got == want)

    def at_most(self, what, got, limit):
        self.true(f"{what}: kymo says {got}, more than {limit}", got <= limit)
