"""Ranks with wrong clocks: after a merge, all times are within the stated error, lengths are as before, and the waits at
the collectives are right."""

import json
from decimal import Decimal
from random import Random

from kit import Trace

ALLOWED_SHARE = 0.05  # the error is that of 95 % of the merges
START = 1_700_000_000_000_000_000
HOUR = 3_600_000_000_000


class Clock:
    """The clock of a rank: what it shows at a true time."""

    def __init__(self, random, duration):
        reach = random.choice([100, 20_000, 3_000_000, 5_000_000, 800_000_000, 30_000_000_000, HOUR])
        self.offset = random.randrange(-reach, reach + 1)
        self.drift = random.choice([0, random.uniform(-100e-6, 100e-6)])
        self.middle = duration // 2

    def __call__(self, time):
        return 2 * HOUR + time + self.offset + round(self.drift * (time - self.middle))


class Job:
    """A job of several ranks: its collectives, and when each rank arrives at them and leaves them."""

    def __init__(self, random, run=0):
        """Two runs of the same job differ only in their times."""
        self.ranks = random.randrange(2, 9)
        self.devices = random.choice([1, 1, 1, 2])  # of each rank
        self.steps = random.choice([12, 25, 60, 150])
        self.step = random.choice([1_400_000, 10_000_000, 40_000_000])
        self.step_jitter = random.choice([0, 15_000, 100_000, self.step // 2])
        self.arrival_jitter = random.choice([1, 30_000, 30_000])
        self.end_jitter = random.choice([1, 500, 5_000])
        self.has_numbers = random.random() < 0.3
        self.has_groups = self.has_numbers or random.random() < 0.3
        self.late = [random.choice([0, 0, 40_000]) for _ in range(self.ranks)]
        kinds = random.sample(["AllReduce_Sum_f32", "AllGather", "ReduceScatter_Sum_bf16"], random.randrange(1, 4))
        groups = {"0": range(self.ranks)}
        if self.has_groups and self.ranks > 3:
            groups.update({"1": range(0, self.ranks, 2), "2": range(1, self.ranks, 2)})
        self.groups = groups
        self.has_ranks = self.ranks % 2 == 0  # of its groups; then those of a half have the same name
        numbers = {group: random.randrange(0, 1000) for group in groups}
        cuts = random.choice([0, self.steps // 10, self.steps // 4])
        self.window = [(random.randrange(0, cuts + 1), self.steps - random.randrange(0, cuts + 1))
                       for _ in range(self.ranks)]
        random = Random(f"{run} {random.random()}")
        self.collectives = []  # (step, group, number in the group, kind, {rank: begin}, {(rank, device): (begin, end)})
        begin = 5_000_000
        for number in range(self.steps):
            time = begin
            for kind in kinds:
                for group, members in groups.items():
                    arrive = {(rank, device): time + self.late[rank] + random.randrange(0, self.arrival_jitter)
                              for rank in members for device in range(self.devices)}
                    end = max(arrive.values()) + 50_000
                    ends = {at: end + random.randrange(0, self.end_jitter) for at in arrive}
                    begins = {rank: max(arrive[rank, device] for device in range(self.devices)) for rank in members}
                    self.collectives.append((number, group, numbers[group], kind, begins,
                                             {at: (arrive[at], ends[at]) for at in arrive}))
                    numbers[group] += 1
                    time = end + 20_000
            begin += self.step + random.randrange(0, self.step_jitter + 1)
        self.duration = begin + 5_000_000

    def has(self, rank, collective):
        first, last = self.window[rank]
        return first <= collective[0] < last and rank in collective[4]

    def collectives_of(self, rank):
        return [one for one in self.collectives if self.has(rank, one)]

    def shared(self):
        """The collectives that all ranks have recorded."""
        return [one for one in self.collectives if all(self.has(rank, one) for rank in range(self.ranks))]


def write(job, rank, clock, mode, path):
    base = {"base": START, "absolute": None, "boot": None}[mode]
    ahead = START if mode == "absolute" else 0
    trace = Trace(base, distributedInfo={"backend": "nccl", "rank": rank, "world_size": job.ranks})
    main = trace.thread(1000 + rank, 1000 + rank, "main")
    for number in range(11):
        time = ahead + clock(job.duration * number // 10)
        main.range(f"probe {rank} {number}", time, time + 1_000)
    for _, group, number, kind, _, places in job.collectives_of(rank):
        for (of, device), (begin, end) in places.items():
            if of != rank:
                continue
            more = {"Process Group Name": group, "In msg nelems": 4096, "Collective name": "x"} if job.has_groups else {}
            if more and job.has_ranks:
                more |= {"Process Group Name": "1" if group == "2" else group, "Process Group Ranks": str(list(job.groups[group]))}
            if job.has_numbers:
                more["Seq"] = number
            trace.stream(device, 20 + int(group)).work(f"ncclDevKernel_{kind}", ahead + clock(begin),
                                                       ahead + clock(end), **more)
    return trace.write(path)


def times_of(case, path):
    """The begins of all ranges of a trace, by name."""
    out = case.folder / "out.json"
    case.run("export", path, "-o", out)
    times = {}
    trace = json.loads(out.read_text(), parse_float=Decimal)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            begin = int(Decimal(event["ts"]) * 1000) + int(trace.get("baseTimeNanoseconds", 0))
            times.setdefault(event["name"], []).append(begin)
    return times


def total_of(case, path):
    rows = case.json("stats", path, "--top", "1000")["rows"]
    return {row["name"]: row["total_ns"] for row in rows}


def probe(times, rank, number):
    return times[f"probe {rank} {number}"][0]


def check(case):
    job = Job(case.random)
    clocks = [Clock(case.random, job.duration) for _ in range(job.ranks)]
    mode = case.random.choice(["base", "absolute", "boot"])
    is_native = case.random.random() < 0.3
    paths = []
    for rank in range(job.ranks):
        path = write(job, rank, clocks[rank], mode, case.folder / f"rank{rank}.json")
        if is_native:
            case.run("import", path, "-o", case.folder / f"rank{rank}.kymo")
            path = case.folder / f"rank{rank}.kymo"
        paths.append(path)
    merged = case.folder / "all.kymo"
    ranks = case.json("merge", *paths, "-o", merged)["ranks"]
    times = times_of(case, merged)
    for rank in range(1, job.ranks):
        answer = ranks[rank]
        if answer["error_known"]:
            far = max(abs(probe(times, rank, n) - probe(times, 0, n)) for n in range(11))
            case.at_most(f"rank {rank}, {answer['by']}, {answer['matches']} matches: times are off by", far,
                         answer["error_ns"] + 3)
            case.at_most(f"drift of rank {rank}", abs(answer["drift"]), 200.1e-6)
        else:
            case.true(f"rank {rank} says why its clock is not known", answer["reason"])
        # What the trace determines must be found: by numbers, or because no two steps are alike.
        shared = [one for one in job.collectives if job.has(0, one) and job.has(rank, one)]
        has_numbers = job.has_numbers and abs(clocks[rank].offset - clocks[0].offset) < 1_000_000_000
        if len(shared) >= 20 and (has_numbers or job.step_jitter >= 10 * (job.end_jitter + 500)):
            case.true(f"rank {rank} is aligned by collectives: {answer}", answer["by"] == "collectives")
            case.at_most(f"error of rank {rank}", answer["error_ns"], 3 * job.end_jitter + 300 + 50e-6 * job.duration)
    check_waits(case, job, ranks)
    check_short(case)

    # Lengths are as they were recorded.
    totals = {}
    for path in paths:
        for name, total in total_of(case, path).items():
            totals[name] = totals.get(name, 0) + total
    case.equal("lengths", total_of(case, merged), totals)

    # Another order of the ranks.
    order = list(range(job.ranks))
    case.random.shuffle(order)
    again = case.json("merge", *[paths[rank] for rank in order], "-o", merged)["ranks"]
    other = times_of(case, merged)
    error = {}
    for rank, answer in list(enumerate(ranks)) + list(zip(order, again)):
        error[rank] = error.get(rank, 0) + (answer["error_ns"] if answer["error_known"] else float("inf"))
    for rank in range(1, job.ranks):
        was, now = probe(times, rank, 5) - probe(times, 0, 5), probe(other, rank, 5) - probe(other, 0, 5)
        case.at_most(f"distance of rank {rank} in another order", abs(was - now), error[rank] + error[0] + 3)

    # A trace and its copy.
    copy = case.folder / "copy.json"
    first = case.folder / "rank0.json"
    copy.write_text(first.read_text())
    case.run("merge", first, copy, "-o", merged)
    for name, begins in times_of(case, merged).items():
        begins.sort()
        case.true(f"{name} is at the same times in a trace and its copy", begins[::2] == begins[1::2])


def check_short(case):
    """Few collectives, nearly regular or with a period, of which a rank may have recorded the later ones."""
    rand = case.random
    count, jitter, period = rand.choice([4, 5, 6, 7, 8, 9, 12, 17, 33]), rand.choice([1, 1_000, 20_000]), rand.randrange(1, 5)
    ends = [1_000_000]
    for step in range(count + 4):
        ends.append(ends[-1] + 1_400_000 + step % period * 300_000 + rand.randrange(jitter))
    offset, later, paths = rand.randrange(-5_000_000, 5_000_000), rand.randrange(4), []
    for rank in range(2):
        trace = Trace(distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2})
        for step in range(count):
            end = ends[step + later * rank] + offset * rank + HOUR
            trace.stream(rank, 7).work("ncclDevKernel_AllReduce_Sum_f32", end - 100_000, end)
        paths.append(trace.write(case.folder / f"short{rank}.json"))
    answer = case.json("merge", *paths, "-o", case.folder / "short.kymo")["ranks"][1]
    if answer["error_known"]:
        case.at_most(f"{count} collectives, {later} later: the offset is off by", abs(answer["offset_ns"] + offset),
                     answer["error_ns"] + 3)


def check_waits(case, job, ranks):
    if not ranks[0]["collectives"]:
        for rank in ranks:
            case.equal("others waited", rank["others_waited_ns"], 0)
        return
    if any(not rank["error_known"] or rank["matches"] > 1 for rank in ranks):
        return
    shared = job.shared()
    case.equal("collectives that all ranks have", ranks[0]["collectives"], len(shared))
    error = 2 * max(rank["error_ns"] for rank in ranks)
    waited = [0] * job.ranks
    lasts = [[0, 0] for _ in range(job.ranks)]  # surely, maybe
    for collective in shared:
        begins = collective[4]
        last = max(begins.values())
        late = [rank for rank in begins if begins[rank] >= last - error]
        for rank in late:
            lasts[rank][0] += len(late) == 1
            lasts[rank][1] += 1
        for rank in begins:
            waited[rank] += last - begins[rank]
    for rank, answer in enumerate(ranks):
        case.true(f"rank {rank} was last {answer['last_at']} times, right is {lasts[rank]}",
                  lasts[rank][0] <= answer["last_at"] <= lasts[rank][1])
        reach = error * len(shared) + 100e-6 * waited[rank]  # the clock of the first rank drifts, too
        case.true(f"rank {rank} waited {answer['waited_ns']}, right is {waited[rank]} ± {reach:.0f}",
                  abs(answer["waited_ns"] - waited[rank]) <= reach)
    case.equal("all waits", sum(rank["others_waited_ns"] for rank in ranks), sum(rank["waited_ns"] for rank in ranks))
