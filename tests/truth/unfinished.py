"""Ranges that never end: they last until their process was last seen alive, which is its last event."""

from kit import Trace


def check_only(case):
    """A thread that has only a range without an end, which begins with the trace."""
    trace, alive = Trace(base_ns=None), case.random.randrange(1, 1_000_000)
    trace.thread(1, 1, "hangs").open_range("hang", 0)
    trace.thread(1, 2, "lives").instant("sign of life", alive)
    path = trace.write(case.folder / "only.json")
    case.equal("stats, only an unfinished range", case.json("stats", path)["rows"][0]["total_ns"], alive)
    busy = {row["track"]: row["busy_ns"] for row in case.json("timeline", path)["rows"]}
    case.equal("timeline, only an unfinished range", busy["hangs"], alive, 1e-6)


def check(case):
    check_only(case)
    trace, ended, unfinished, busy, open_ranges = Trace(), {}, {}, {}, {}
    first_event = None
    for pid in (7, 8, 9):
        alive = case.random.randrange(200_000, 400_000)
        trace.thread(pid, 1, f"main {pid}").range("last sign of life", alive - 100, alive)
        busy[f"main {pid}"] = 100
        add(ended, "last sign of life", 100, 100)
        for tid in (2, 3):
            name = f"worker {pid}.{tid}"
            thread = trace.thread(pid, tid, name)
            begin = time = case.random.randrange(0, 1_000)
            inside = []  # of the open ranges: what has ended inside, and when they began
            for depth in range(case.random.randrange(0, 4)):
                thread.open_range(f"hangs {depth}", time)
                inside.append([0, time])
                time += case.random.randrange(1, 100)
                for _ in range(case.random.randrange(0, 5)):
                    length = case.random.randrange(10, 5_000)
                    thread.range(f"done {depth}", time, time + length)
                    add(ended, f"done {depth}", length, length)
                    inside[-1][0] += length
                    time += length + case.random.randrange(1, 100)
            first_event = begin if first_event is None or (inside and begin < first_event) else first_event
            for depth, (done, start) in enumerate(inside):
                inner = alive - inside[depth + 1][1] if depth + 1 < len(inside) else 0
                add(unfinished, f"hangs {depth}", alive - start, alive - start - done - inner)
            if inside:
                busy[name] = alive - begin
                open_ranges[name] = [(f"hangs {depth}", start, alive) for depth, (_, start) in enumerate(inside)]
    case.random.shuffle(trace.events)
    path = trace.write(case.folder / "run.json")
    if not open_ranges:
        return case.true("nothing hangs", True)
    begin = min(ranges[0][1] for ranges in open_ranges.values())

    answer = case.json("stats", path)
    for row in answer["rows"]:
        right = (unfinished if row.get("unfinished") else ended)[row["name"]]
        case.equal(f"count, total and self time of {row['name']}", (row["count"], row["total_ns"], row["self_ns"]), right)
    case.equal("unfinished ranges", answer["unfinished"], sum(row[0] for row in unfinished.values()))

    of_thread = {}
    for row in case.json("stats", path, "--by", "thread")["rows"]:
        of_thread[row["thread"]] = of_thread.get(row["thread"], 0) + row["self_ns"]
    case.equal("self times of threads", of_thread, busy)

    frames = case.json("flame", path)["frames"]
    case.equal("flame, times of threads",
               {frame["name"]: frame["total_ns"] for frame in frames if frame["kind"] == "track"}, busy)
    case.equal("flame, unfinished ranges", sum(frame["count"] for frame in frames if frame["kind"] == "unfinished"),
               answer["unfinished"])
    case.equal("flame, self time of unfinished ranges",
               sum(frame["self_ns"] for frame in frames if frame["kind"] == "unfinished"),
               sum(row[2] for row in unfinished.values()))

    for row in case.json("timeline", path)["rows"]:
        shown = [(one["name"], one["begin_ns"] + begin, one["end_ns"] + begin) for one in row["unfinished"]]
        case.equal(f"timeline, unfinished ranges of {row['track']}", shown, open_ranges.get(row["track"], []))
        case.equal(f"timeline, time of {row['track']}", row["busy_ns"], busy.get(row["track"], 0), 1e-6)


def add(sums, name, *values):
    sums[name] = tuple(a + b for a, b in zip(sums.get(name, (0,) * (len(values) + 1)), (1, *values)))
