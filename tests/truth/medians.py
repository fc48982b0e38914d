"""One definition of a median and of quantiles for all commands: between the two nearest values."""

import statistics

from kit import Trace


def check(case):
    trace, lengths, time = Trace(), [], 0
    main = trace.thread(7, 7, "main")
    count = case.random.choice([2, 2, 3, 4, 5, case.random.randrange(6, 60)])
    for step in range(count):
        length = case.random.randrange(1, 1_000) * 20_000
        main.range(f"ProfilerStep#{step}", time, time + length)
        main.range("work", time, time + length)
        lengths.append(length)
        time += length
    path = trace.write(case.folder / "run.json")
    right = statistics.median(lengths)
    upper = statistics.quantiles(lengths, n=100, method="inclusive")

    row = next(row for row in case.json("stats", path)["rows"] if row["name"] == "work")
    case.equal("stats, median", row["median_ns"], right, 1e-9)
    case.equal("stats, p99", row["p99_ns"], upper[98], 1e-6)
    case.true("stats, exact", "approximate" not in row)
    found = case.json("hist", path, "work")["distributions"][0]
    case.equal("hist, median", found["p50_ns"], right, 1e-9)
    case.equal("hist, p90", found["p90_ns"], upper[89], 1e-6)
    case.equal("hist, p99", found["p99_ns"], upper[98], 1e-6)
    diff = case.json("diff", path, path)
    case.equal("diff, median", diff["iteration"]["median_a_ns"], right, 1e-9)
    report = case.json("report", path)
    case.equal("report, median", report["iterations"]["median_ns"], right, 1e-9)
