"""Ranges of a thread that are inside each other: counts, totals and self times."""

from kit import Trace


def check(case):
    trace = Trace()
    counts, totals, selves = {}, {}, {}

    def grow(thread, begin, end, depth):
        """Ranges that cover parts of a time; returns how much they cover."""
        covered, time = 0, begin + case.random.randrange(0, 500)
        while depth < 5 and end - time > 2_000:
            length = case.random.randrange(1_000, max(1_001, (end - time) // case.random.choice([1, 2, 4])))
            name = f"depth {depth} kind {case.random.randrange(3)} of {case.random.choice('ab')}"
            inside = grow(thread, time, time + length, depth + 1)
            thread.range(name, time, time + length)
            counts[name] = counts.get(name, 0) + 1
            totals[name] = totals.get(name, 0) + length
            selves[name] = selves.get(name, 0) + length - inside
            covered += length
            time += length + case.random.randrange(0, 3_000)
        return covered

    covered = sum(grow(trace.thread(7, tid), 0, case.random.randrange(10_000, 400_000), 0) for tid in (1, 2, 3))
    path = trace.write(case.folder / "run.json")
    rows = {row["name"]: row for row in case.json("stats", path, "--full-text", "--top", "1000")["rows"]}
    case.equal("names", sorted(rows), sorted(counts))
    for name, row in rows.items():
        case.equal(f"count of {name}", row["count"], counts[name])
        case.equal(f"total of {name}", row["total_ns"], totals[name])
        case.equal(f"self time of {name}", row["self_ns"], selves[name])
    case.equal("all self times", sum(row["self_ns"] for row in rows.values()), covered)
