"""A trace that is exported and imported again is the same trace: events, times, names, categories, arguments, flows."""

import csv

from kit import Trace

NAMES = ["load", "step {}", "a,b", "naïve \"x\"", "{rows} rows", "op"]
CATEGORIES = ["user_annotation", "cpu_op", "io", ""]


def args_of(case):
    """Arguments of all types that a trace has."""
    all_kinds = {"rows": case.random.randrange(-5, 1 << 40), "share": case.random.randrange(1, 999) / 8,
                 "text": case.random.choice(["", "a b", "{}", "\u00e9"]), "on": case.random.random() < 0.5}
    return {key: value for key, value in all_kinds.items() if case.random.random() < 0.4}


def make(case):
    trace = Trace()
    trace.process_name(10, "train")
    threads = [trace.thread(10, tid, f"worker {tid}") for tid in range(10, 10 + case.random.randrange(1, 4))]
    threads.append(trace.thread(20, 20))

    def grow(thread, begin, end, depth):
        time = begin + case.random.randrange(100)
        while depth < 4 and end - time > 1_000:
            length = case.random.randrange(500, max(501, end - time))
            thread.range(case.random.choice(NAMES), time, time + length, cat=case.random.choice(CATEGORIES), **args_of(case))
            grow(thread, time, time + length, depth + 1)
            time += length + case.random.randrange(2_000)

    for thread in threads:
        grow(thread, 0, 100_000, 0)
        thread.range("around", 100_000, 200_000)
        for i in range(case.random.randrange(4)):
            thread.instant(case.random.choice(NAMES), case.random.randrange(100_000, 200_000))
            thread.counter("bytes", case.random.randrange(200_000), case.random.randrange(1 << 33))
    for number in range(case.random.randrange(6)):
        sender, receiver = case.random.choice(threads), case.random.choice(threads)
        sent = case.random.randrange(100_000, 150_000)
        trace.flow(number + 1, sender, sent, receiver, case.random.randrange(150_000, 200_000))
        case.random.choice(threads).async_range("request", sent, sent + 900, number + 100)
    # Some ranges overlap without being inside each other.
    for i in range(case.random.randrange(4)):
        begin = 300_000 + case.random.randrange(1_000)
        threads[0].range("overlapping", begin, begin + case.random.randrange(1, 2_000))
    for number in (7, 9)[:case.random.randrange(3)]:
        queue, time = trace.stream(0, number), 1_000
        for i in range(case.random.randrange(1, 20)):
            threads[0].call("cudaLaunchKernel", time + 200_000, time + 200_300, 1_000 * number + i)
            time += case.random.randrange(500, 3_000)
            category, name = case.random.choice([("kernel", "gemm"), ("gpu_memcpy", "Memcpy HtoD (Host -> Device)"),
                                                 ("copy", "map"), ("device range", "frame"), ("physics", "solve")])
            queue.work(name, time + 200_000, time + 200_400, 1_000 * number + i, cat=category, **args_of(case))
    return trace


def events_of(case, path):
    """All events without the ids of flows and ranges across threads, which may be other numbers."""
    case.run("export", path, "-o", case.folder / "events.csv")
    with open(case.folder / "events.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["kind"] != "range":
            row["id"] = ""
    return sorted(tuple(row.values()) for row in rows)


def check(case):
    original = make(case).write(case.folder / "run.json")
    case.run("import", original, "-o", case.folder / "run.kymo")
    want = events_of(case, case.folder / "run.kymo")
    stats = case.json("stats", case.folder / "run.kymo", "--full-text", "--top", "1000")["rows"]
    for name in ("back.json", "back.json.gz", "back.pftrace"):
        back = case.folder / name
        case.run("export", case.folder / "run.kymo", "-o", back)
        got = events_of(case, back)
        case.equal(f"events that {name} lost or changed", [one for one in want if one not in got][:3], [])
        case.equal(f"number of events of {name}", len(got), len(want))
        case.equal(f"stats of {name}", case.json("stats", back, "--full-text", "--top", "1000")["rows"], stats)
