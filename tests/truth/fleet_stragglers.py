"""Who is late: a job with tensor and data parallel groups, in every store. Only the slow rank is named."""

import time

from kit import Trace
from stores import ask, check_cut, cut, stores

STEPS = 6


def check(case):
    tensor, data = case.random.choice([(2, 2), (4, 2), (4, 4), (8, 2)])
    ranks = tensor * data
    slow = case.random.randrange(ranks) if case.seed % 4 else None
    compute, late, jitter, wire = 4_000_000, case.random.randrange(300_000, 900_000), 8_000, 100_000
    absent = case.random.choice([rank for rank in range(ranks) if rank != slow]) if case.seed % 5 >= 3 and tensor > 2 else None
    missing, astray = (absent, None) if case.seed % 5 == 3 else (None, absent)  # no trace, or a wrong clock
    base = time.time_ns() - 600 * 10**9
    traces = []
    for rank in range(ranks):
        ahead = case.random.choice([-1, 1]) * case.random.randrange(30, 300) * 10**9 if rank == astray else 0
        trace = Trace(base_ns=base + ahead, distributedInfo={"rank": rank, "world_size": ranks})
        traces.append((trace, trace.thread(100, 100, "main"), trace.stream(0, 7)))
    clock = 1_000_000
    waited = [0] * ranks
    for step in range(STEPS):
        ready = [clock + compute + case.random.randrange(jitter) + (late if rank == slow else 0) for rank in range(ranks)]
        begin = clock
        for name, groups in (("tp", [[first + i for i in range(tensor)] for first in range(0, ranks, tensor)]),
                             ("dp", [[i + tensor * j for j in range(data)] for i in range(tensor)])):
            for group in groups:
                end = max(ready[rank] for rank in group) + wire
                for rank in group:
                    queue = traces[rank][2]
                    queue.range("ncclDevKernel_AllReduce_Sum_f32", ready[rank], end, cat="kernel", device=0, stream=7,
                                **{"Process Group Name": f"{name}{group[0]}", "Process Group Ranks": str(group)})
                    waited[rank] += end - wire - ready[rank]
                    ready[rank] = end + 1_000
        clock = max(ready) + 50_000
        for _, main, _ in traces:
            main.range(f"ProfilerStep#{step}", begin, clock - 10_000)
    files = [trace.write(case.folder / f"rank{rank}.json") for rank, (trace, _, _) in enumerate(traces) if rank != missing]
    if missing is not None:  # its trace was cut off, so it is missing too
        files.append(cut(case, traces[missing][0], f"rank{missing}"))
    urls = stores(case, [files, "--job", "train"])
    if not urls:
        return
    answer = ask(case, urls, "stragglers", "--fail-above", "2%", exit_code=0 if slow is None else 1)
    check_cut(case, answer, 0 if missing is None else 1)
    named = [row["rank"] for row in answer["rows"] if row["share"] > 0.01]
    case.equal("named ranks", named, [] if slow is None else [slow])
    case.equal("partial", any(note.startswith("partial: ") for note in answer["notes"]), absent is not None)
    blamed = [note for note in answer["notes"] if "more than 10 s before or after the others" in note]
    case.equal("whose clock is wrong", all(f"rank {astray} has them" in note for note in blamed) and bool(blamed),
               astray is not None)
    if slow is None or not named:
        return
    row = answer["rows"][0]
    group = tensor if row["group"].startswith("tp") else data
    group -= 1 if absent is not None and str(absent) in row["group"].split("[")[1].strip("]").split(", ") else 0
    case.equal("others waited", row["others_waited_ns"], STEPS * late * (group - 1), tolerance=0.1)
    case.equal("waited itself", row["waited_itself_ns"], waited[slow], tolerance=0.2 if absent is not None else 0.001)
    case.equal("share", row["share"], late * (group - 1) / (group * (compute + late)), tolerance=0.15)
