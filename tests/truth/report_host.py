"""The report of a program without a device: waits, hangs, the work of profilers, and what is an iteration."""

from kit import Trace


def parts_of(case, report):
    case.equal("sum of the parts", sum(part["ns"] for part in report["parts"]), report["window_ns"])
    for one in report["findings"]:
        case.at_most(f"saving of {one['kind']}", one["saves_ns"], report["window_ns"])
    return {part["name"]: part["ns"] for part in report["parts"]}


def steps(case, name, cat="user_annotation"):
    """Steps with a range inside that takes most of the time; returns trace, end and the time of the range."""
    trace, time, total = Trace(), 0, 0
    main = trace.thread(1, 1, "main")
    for i in range(case.random.randrange(3, 8)):
        length, inside = case.random.randrange(400_000, 500_000), case.random.randrange(250_000, 390_000)
        main.range(f"step {i}", time, time + length)
        main.range(name, time + 1_000, time + 1_000 + inside, cat=cat)
        time += length
        total += inside
    return trace, time, total


def slow_range(case):
    trace, end, total = steps(case, "compute")
    report = case.json("report", trace.write(case.folder / "run.json"))
    case.equal("compute", parts_of(case, report)["compute"], total)
    case.equal("first finding", report["findings"][0]["kind"], "range")
    case.equal("saving", report["findings"][0]["saves_ns"], total // 2)


def wait(case):
    name = case.random.choice(["time.sleep", "future.get", "thread.join", "cudaStreamSynchronize", "poll", "futex",
                               "pthread_cond_wait"])
    trace, end, total = steps(case, name)
    works = case.random.random() < 0.5
    if works:
        trace.thread(1, 2, "worker").range("decode", 0, end)
    first = case.json("report", trace.write(case.folder / "run.json"))["findings"][0]
    case.equal("first finding", (first["kind"], first["ns"], first["saves_ns"]), ("wait", total, 0))
    case.true(f"what works meanwhile: {first}", any("decode" in row for row in first["evidence"]) == works)
    case.equal("what to record", first["record"] == "", works)


def profiler(case):
    name, cat = case.random.choice([("Activity Buffer Request", "overhead"), ("waiting for the collector", "kymo"),
                                    ("OpenACC profiling initialization", ""), ("dlopen", "profiler_overhead")])
    trace, end, total = steps(case, name, cat)
    report = case.json("report", trace.write(case.folder / "run.json"))
    case.equal("cost of profiling", parts_of(case, report)["cost of profiling"], total)
    case.true(f"not in {report['findings']}", name not in str(report["findings"]) + str(report["host"]))


def hang(case):
    """Steps, then two threads hang until the last event of the process."""
    trace, end, total = steps(case, "compute")
    hangs = case.random.randrange(end, 10 * end)
    last = end + hangs
    trace.thread(1, 1).open_range(case.random.choice(["lock", "step 99"]), end)
    trace.thread(1, 1).open_range("take the mutex", end + 10)
    trace.thread(1, 3, "second").open_range("other mutex", end + hangs // 2)
    trace.thread(1, 4, "ticker").instant("tick", last)
    report = case.json("report", trace.write(case.folder / "run.json"))
    parts_of(case, report)
    first = report["findings"][0]
    case.equal("first finding", (first["kind"], first["ns"], first["saves_ns"]), ("unfinished", hangs - 10, 0))
    case.true(f"names the range: {first['text']}", "take the mutex" in first["text"])
    case.true(f"names both threads: {first['evidence']}", len(first["evidence"]) == 2)
    case.true(f"no saving of what hangs: {report['findings']}",
              all("take the mutex" not in one["text"] for one in report["findings"][1:]))
    case.true("the window has the hang", hangs - 10 <= report["window_ns"] <= last)


def cut(case):
    """A recording that ends in the middle of a step is not a hang."""
    trace, end, total = steps(case, "compute")
    trace.thread(1, 1).open_range("step 99", end)
    trace.thread(1, 1).open_range("compute", end + 1_000)
    trace.thread(1, 4, "ticker").instant("tick", end + 200_000)
    report = case.json("report", trace.write(case.folder / "run.json"))
    case.true("no hang", all(one["kind"] != "unfinished" for one in report["findings"]))


def only_unfinished(case):
    trace = Trace()
    trace.thread(1, 1, "main").open_range("solve", case.random.randrange(1_000))
    report = case.json("report", trace.write(case.folder / "run.json"))
    case.equal("first finding", report["findings"][0]["kind"], "unfinished")
    case.true("names it", "solve" in report["findings"][0]["text"])


def small_step(case):
    """A range that is named like a step, but is a small part, is not the iteration."""
    trace, total = Trace(), case.random.randrange(1_000_000, 9_000_000)
    main = trace.thread(1, 1, "main")
    main.range("everything", 0, total)
    main.range("step 1", 100, 100 + total // 30)
    report = case.json("report", trace.write(case.folder / "run.json"))
    case.equal("source", report["iterations"]["source"], "whole trace")
    case.equal("window", report["window_ns"], total)
    parts_of(case, report)


def calls(case):
    """Calls of a library that repeat are not iterations."""
    trace, time = Trace(), 0
    main = trace.thread(1, 1, "main")
    for i in range(4):
        length = case.random.randrange(100_000, 900_000)
        main.range("cudaHostAlloc", time, time + length, cat="cuda_runtime")
        main.range("ioctl", time + 10, time + length - 10, cat="os_runtime")
        time += length
    report = case.json("report", trace.write(case.folder / "run.json"))
    case.equal("source", report["iterations"]["source"], "whole trace")
    parts_of(case, report)


def shapes(case):
    """Rows by shapes count only what is in the window."""
    trace, end, total = steps(case, "compute")
    main = trace.thread(1, 1)
    main.range("aten::mm", end - 1_500, end - 1_000, cat="cpu_op", **{"Input Dims": "[\n  [2,\n 2], [2,2]]"})
    main.range("aten::mm", end + 10, end + 5_000, cat="cpu_op", **{"Input Dims": "[\n  [2,\n 2], [2,2]]"})
    rows = case.json("report", trace.write(case.folder / "run.json"))["shapes"]
    case.equal("shapes", [(row["shapes"], row["count"], row["total_ns"]) for row in rows], [("[[2, 2], [2, 2]]", 1, 500)])


def hiccup(case):
    """Some steps have a range more than the others, inside of one that all have."""
    trace, time, more = Trace(), 0, 0
    main, pause = trace.thread(1, 1, "main"), case.random.randrange(300_000, 900_000)
    count = case.random.randrange(20, 60)
    every = case.random.randrange(4, 12)
    for i in range(count):
        work = case.random.randrange(100_000, 110_000)
        longer = pause if i % every == every - 1 else 0
        main.range(f"step {i}", time, time + work + longer + 5_000)
        main.range("forward", time + 1_000, time + work + longer + 4_000)
        main.range("work", time + 2_000, time + work)
        if longer:
            main.range("gc", time + work + 1_000, time + work + 1_000 + longer)
            main.range("mark", time + work + 2_000, time + work + longer // 2)
            more += 1
        time += work + longer + 5_000 + case.random.randrange(1_000)
    report = case.json("report", trace.write(case.folder / "run.json"))
    uneven = [one for one in report["findings"] if one["kind"] == "uneven iterations"]
    case.true(f"names the range: {report['findings']}", bool(uneven) and 'because of "gc"' in uneven[0]["text"])
    row = uneven[0]["evidence"][0]
    case.true(f"how much and where: {row}", f"{more} of {count} iterations" in row)
    share = float(row.split("explains ")[1].split(" %")[0])
    case.true(f"explains all of it: {share}", 95 <= share <= 100)


PLANS = [hiccup, slow_range, wait, profiler, hang, cut, only_unfinished, small_step, calls, shapes]


def check(case):
    PLANS[case.seed % len(PLANS)](case)
