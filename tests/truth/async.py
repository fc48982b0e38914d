"""Ranges across threads: inside of others with the same id, ids that are used again, and in several processes."""

from kit import Trace


def check(case):
    trace, lengths = Trace(), {}
    threads = {pid: [trace.thread(pid, tid) for tid in (1, 2, 3)] for pid in (7, 8)}
    used = set()

    def moment(time):
        """A time that nothing else has: which of two events of one id is first must not be a matter of chance."""
        while time in used:
            time += 1
        used.add(time)
        return time

    def grow(pid, number, begin, end, depth):
        time = begin
        while depth < 4 and end - time > 500:
            start = moment(time + case.random.randrange(1, 100))
            stop = start + case.random.randrange(100, max(101, (end - start) // case.random.choice([1, 2])))
            if stop + 50 >= end:
                return
            grow(pid, number, start, stop, depth + 1)
            stop = moment(stop)
            name = f"level {depth}" if case.random.randrange(2) else "the same name"
            first, last = case.random.choice(threads[pid]), case.random.choice(threads[pid])
            trace.event("b", name, pid, first.tid, start, cat="async", id=number)
            trace.event("e", name, pid, last.tid, stop, cat="async", id=number)
            lengths.setdefault(name, []).append(stop - start)
            time = stop

    for pid in threads:
        threads[pid][0].range("work", 0, 100)
        for number in (1, 2, "0xabc"):  # the same ids in both processes
            grow(pid, number, case.random.randrange(0, 1_000), case.random.randrange(5_000, 50_000), 0)
    case.random.shuffle(trace.events)
    path = trace.write(case.folder / "run.json")

    answer = case.json("stats", path)
    rows = {row["name"]: row for row in answer["rows"] if row.get("across_threads")}
    case.equal("names", sorted(rows), sorted(lengths))
    case.equal("ends without a begin", answer["unmatched_ends"], 0)
    case.equal("unfinished ranges", answer["unfinished"], 0)
    for name, row in rows.items():
        case.equal(f"count of {name}", row["count"], len(lengths[name]))
        case.equal(f"total of {name}", row["total_ns"], sum(lengths[name]))
        case.equal(f"shortest of {name}", row["min_ns"], min(lengths[name]))
        case.equal(f"longest of {name}", row["max_ns"], max(lengths[name]))
        found = case.json("hist", path, name)["distributions"][0]
        case.equal(f"hist of {name}", (found["count"], found["total_ns"]), (row["count"], row["total_ns"]))
