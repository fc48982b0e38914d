"""Traces of different runs of a job, which have the same collectives with the same numbers: they are not one run."""

from kit import Trace

from merge import START, Job, times_of


def write(job, rank, started, path):
    trace = Trace(START, distributedInfo={"backend": "nccl", "rank": rank, "world_size": job.ranks})
    trace.thread(1, 1, "main").range(f"probe {path.stem}", started, started + 1_000)
    for _, group, number, kind, _, places in job.collectives_of(rank):
        begin, end = places[rank, 0]
        more = {"Process Group Name": group, "Seq": number} if job.has_numbers else {}
        trace.stream(0, 20 + int(group)).work(f"ncclDevKernel_{kind}", started + begin, started + end, **more)
    return trace.write(path)


def check(case):
    state = case.random.getstate()
    first = Job(case.random, run=1)
    case.random.setstate(state)
    again = Job(case.random, run=2)
    later = first.duration + case.random.choice([2, 20, 120, 30_000]) * 1_000_000_000
    merged = case.folder / "all.kymo"
    one = write(first, 0, 0, case.folder / "first.json")
    two = write(again, case.random.randrange(0, 2), later, case.folder / "second.json")
    answer = case.json("merge", one, two, "-o", merged)["ranks"][1]
    case.equal("how another run is aligned", answer["by"], "system clock")
    case.true(f"it has a reason: {answer}", answer.get("reason"))
    times = times_of(case, merged)
    case.equal("time between the runs", times["probe second"][0] - times["probe first"][0], later)
