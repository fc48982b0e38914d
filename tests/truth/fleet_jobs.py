"""What a fleet has: jobs with runs, ranks, hosts and operations, in every store. A part of the ranks and files is missing."""

import time

from kit import Trace
from stores import ask, check_cut, cut, stores

MINUTE = 60 * 10**9


class Recording:
    """A trace of a rank: iterations in which one operation of the host and one of a device run."""

    def __init__(self, case, job, run, rank, begin):
        self.job, self.run, self.rank, self.begin = job, run, rank, begin
        self.host = f"node{rank // 2}"
        about = {"distributedInfo": {"rank": rank, "world_size": 64}, "host_name": self.host}
        if run:
            about["KYMO_RUN"] = run
        self.trace = Trace(base_ns=begin, **about)
        main, queue = self.trace.thread(100, 100, "main"), self.trace.stream(0, 7)
        main.range("setup", 0, 1000)
        self.walls, self.load, self.gemm = [], [], []
        at = 10_000
        for number in range(case.random.randrange(2, 5)):
            wall = case.random.randrange(5_000_000, 20_000_000)
            self.walls.append(wall)
            self.load.append(case.random.randrange(100_000, wall // 2))
            self.gemm.append(case.random.randrange(100_000, wall // 2))
            main.range(f"ProfilerStep#{number}", at, at + wall)
            main.range("load", at + 1_000, at + 1_000 + self.load[-1], cat="cpu_op")
            main.call("cudaLaunchKernel", at + self.load[-1] + 2_000, at + self.load[-1] + 3_000, number + 1)
            queue.work("gemm", at + self.load[-1] + 3_000, at + self.load[-1] + 3_000 + self.gemm[-1], number + 1)
            at += wall + 5_000


def make(case):
    """Recordings by job, and files that are cut. A run has ranks; of the second one, some are missing."""
    begin = time.time_ns() - 600 * MINUTE
    begin -= begin % MINUTE  # so that ranks of a run begin in the same minute
    made, cuts, minute = {}, {}, 0
    for j in range(case.random.randrange(1, 4)):
        job = f"job{j}"
        made[job], cuts[job] = [], []
        ranks = case.random.randrange(2, 5)
        for run in range(case.random.randrange(1, 4)):
            name = f"run{run}" if case.seed % 3 else ""
            missing = case.random.randrange(ranks) if run == 1 and ranks > 2 else None
            for _ in range(case.random.randrange(1, 4)):
                minute += 1
                made[job] += [Recording(case, job, name, rank, begin + minute * MINUTE) for rank in range(ranks)
                              if rank != missing]
            if case.random.randrange(3):
                cuts[job].append(Recording(case, job, name, 50 + run, begin + minute * MINUTE + 30 * 10**9))
    return made, cuts


def check_runs(case, answer, recordings):
    want = {}
    for one in recordings:
        want.setdefault((one.job, one.run), []).append(one)
    got = {(row["job"], row["run"]): row for row in answer["rows"]}
    case.equal("runs", sorted(got), sorted(want))
    for key in got.keys() & want.keys():
        row, its = got[key], want[key]
        case.equal(f"traces of {key}", row["traces"], len(its))
        case.equal(f"ranks of {key}", row["ranks"], len({one.rank for one in its}))
        case.equal(f"hosts of {key}", row["hosts"], len({one.host for one in its}))
        case.equal(f"first of {key}", row["first"], min(one.begin for one in its) // 10**9)
        case.equal(f"last of {key}", row["last"], max(one.begin for one in its) // 10**9)
        walls = [wall for one in its for wall in one.walls]
        case.equal(f"iteration of {key}", row["iteration_ns"], sum(walls) // len(walls))


def check_top(case, answer, recordings):
    rows = {(row["name"], row["device"]): row for row in answer["rows"]}
    case.equal("iterations", answer["iterations_ns"], sum(sum(one.walls) for one in recordings))
    case.equal("compute", answer["compute_ns"], sum(sum(one.gemm) for one in recordings))
    for name, device in (("load", False), ("gemm", True)):
        row = rows[name, device]
        lengths = [(length, one.rank) for one in recordings for length in getattr(one, name)]
        case.equal(f"calls of {name}", row["calls"], len(lengths))
        case.equal(f"self time of {name}", row["self_ns"], sum(length for length, _ in lengths))
        case.equal(f"longest {name}", row["longest_ns"], max(lengths)[0])
        case.equal(f"slowest rank of {name}", row["slowest_rank"], max(lengths)[1])
        case.equal(f"traces of {name}", row["traces"], len(recordings))
        case.equal(f"ranks of {name}", row["ranks"], len({one.rank for one in recordings}))


def check_missing(case, urls, job, recordings):
    """A rank that is only in one of two runs is named, and does not count."""
    runs = sorted({one.run for one in recordings})
    if len(runs) < 2 or not runs[0]:
        return
    sides = [{one.rank for one in recordings if one.run == run} for run in runs[:2]]
    answer = ask(case, urls, "diff", "--job", job, "--run", runs[0], "--run", runs[1], exit_code=3)
    lost = sorted(sides[0] - sides[1])
    said = [note for note in answer["notes"] if note.startswith("not compared: ") and "recorded only in" in note]
    case.equal("ranks that are not compared", said,
               [f"not compared: rank {lost[0]}, recorded only in A"] if lost else [])


def check(case):
    made, cuts = make(case)
    pushes = [([*(one.trace.write(case.folder / f"{job}-{i}.json") for i, one in enumerate(recordings)),
                *(cut(case, one.trace, f"{job}-cut{i}") for i, one in enumerate(cuts[job]))], "--job", job)
              for job, recordings in made.items()]
    urls = stores(case, *pushes)
    if not urls:
        return
    everything = [one for recordings in made.values() for one in recordings]
    answer = ask(case, urls, "jobs")
    check_runs(case, answer, everything)
    check_cut(case, answer, sum(map(len, cuts.values())))
    check_top(case, ask(case, urls, "top"), everything)
    for job, recordings in made.items():
        answer = ask(case, urls, "top", "--job", job)
        check_top(case, answer, recordings)
        check_cut(case, answer, len(cuts[job]))
        one = case.random.choice(recordings)
        check_top(case, ask(case, urls, "top", "--job", job, "--rank", one.rank),
                  [other for other in recordings if other.rank == one.rank])
        check_top(case, ask(case, urls, "top", "--job", job, "--host", one.host),
                  [other for other in recordings if other.host == one.host])
        check_missing(case, urls, job, recordings)
