"""The report of merged ranks: who arrives last at the collectives, and how long the others wait."""

from kit import Trace


def check(case):
    ranks, count = case.random.randrange(2, 5), case.random.randrange(8, 15)
    slow = case.random.randrange(ranks) if case.seed % 3 else None
    late = case.random.randrange(300_000, 900_000)
    # Equal steps match in several ways, so that the clocks cannot be aligned: then nobody is called late.
    is_regular = case.seed % 5 == 4
    if is_regular:
        count = case.random.choice([8, 9, 10, 17, 33])
    base = [1_000_000 if is_regular else case.random.randrange(900_000, 1_900_000) for step in range(count)]
    wire = 100_000
    files = []
    for rank in range(ranks):
        trace = Trace(distributedInfo={"backend": "nccl", "rank": rank, "world_size": ranks})
        main, queue = trace.thread(100 + rank, 100 + rank, "main"), trace.stream(rank, 7)
        time = 1_000_000_000
        for step in range(count):
            own = base[step] + (late if rank == slow else 0)
            end = time + base[step] + (late if slow is not None else 0) + wire
            main.range(f"ProfilerStep#{step}", time, end)
            main.call("cudaLaunchKernel", time - 9_000, time - 8_000, 2 * step + 1)
            main.call("cudaLaunchKernel", time - 7_000, time - 6_000, 2 * step + 2)
            queue.work("gemm", time, time + own, 2 * step + 1)
            queue.work("ncclDevKernel_AllReduce_Sum_f32", time + own, end, 2 * step + 2)
            time = end
        files.append(trace.write(case.folder / f"rank{rank}.json"))
    case.run("merge", *files, "-o", case.folder / "all.kymo")
    report = case.json("report", case.folder / "all.kymo")
    case.equal("sum of the parts", sum(part["ns"] for part in report["parts"]), report["window_ns"])
    found = [one for one in report["findings"] if one["kind"] == "straggler"]
    if slow is None or is_regular:
        case.equal("stragglers", found, [])
        texts = [one["record"] for one in report["findings"] if one["kind"] == "communication"]
        case.true(f"the clocks are named: {texts}", all("clocks" in text for text in texts) or not is_regular)
        return
    case.equal("findings", len(found), 1)
    case.true(f"names rank {slow}: {found[0]['text']}", f"rank {slow} arrives last at {count} of {count}" in
              found[0]["text"])
    case.at_most("saving", found[0]["saves_ns"], count * late)
    case.true(f"saving {found[0]['saves_ns']} is near {count * late}", found[0]["saves_ns"] >= 0.9 * count * late)
    for one in report["findings"]:
        if one["kind"] == "communication":
            case.at_most("saving of communication", one["saves_ns"], count * wire * 1.01)
    for device in report["devices"]:
        waits = 0 if f"GPU {slow}" in device["name"] else count * late
        case.equal(f"waiting of {device['name']}", device["waiting_for_ranks_ns"], waits, tolerance=0.1)
