"""Functions of samples: their own time, the time with what they called, who called them, and whom they called."""

from kit import Trace

MILLISECOND = 1_000_000
NAMES = ["_start", "main", "work::run(int)", "std::vector<int, std::allocator<int> >::push_back(int&&)",
         "void work::apply<std::map<int, int, std::less<int>, std::allocator<std::pair<int const, int> > > >(int)",
         "write", "main::{lambda(int)#1}::operator()(int) const", "bool operator< <int>(work::X<int> const&)"]


def check(case):
    trace = Trace(sampling="1 kHz")
    stacks = []  # innermost first
    for tid in (1, 2):
        trace.thread(7, tid, f"thread {tid}")
        for number in range(case.random.randrange(1, 60)):
            stack = [case.random.choice(NAMES) for _ in range(case.random.randrange(1, 9))]
            stacks.append(stack)
            trace.event("i", "sample", 7, tid, number * MILLISECOND, cat="cpu", s="t",
                        args={"node": 0, "kymo": "sample", "stack": " < ".join(stack)})
    path = trace.write(case.folder / "run.json")

    rows = {row["function"]: row for row in case.json("stats", path, "--by", "function")["functions"]}
    case.equal("functions", sorted(rows), sorted({name for stack in stacks for name in stack}))
    for name, row in rows.items():
        case.equal(f"own samples of {name}", row["self_samples"], sum(stack[0] == name for stack in stacks))
        case.equal(f"all samples of {name}", row["total_samples"], sum(name in stack for stack in stacks))

    check_tree(case, case.json("stats", path, "--tree"), [stack[::-1] for stack in stacks])
    wanted = case.random.choice(sorted(rows))
    outermost = [len(stack) - 1 - stack[::-1].index(wanted) if wanted in stack else None for stack in stacks]
    both = [(stack, at) for stack, at in zip(stacks, outermost) if at is not None]
    check_tree(case, case.json("stats", path, "--callers", wanted), [stack[at:] for stack, at in both])
    check_tree(case, case.json("stats", path, "--callees", wanted), [stack[at::-1] for stack, at in both])

    text = case.run("stats", path, "--by", "function")
    for hidden in ("allocator", "std::less", "(int)"):
        case.true(f"a table shows {hidden}", hidden not in text)
    full = case.run("stats", path, "--by", "function", "--full-text")
    for name in rows:
        case.true(f"the full text has no {name}", name in full)
    folded = case.run("flame", path, "--by", "function", "--full-text").splitlines()
    case.equal("time of all paths", sum(int(line.rsplit(" ", 1)[1]) for line in folded), len(stacks) * MILLISECOND)


def check_tree(case, answer, paths):
    """`paths` are what is below each other in the tree, one for each sample."""
    rows, above, last = answer["calls"], [], []
    want = {}
    for path in paths:
        for depth in range(len(path)):
            one = want.setdefault(tuple(path[:depth + 1]), [0, 0])
            one[0] += 1
            one[1] += depth + 1 == len(path)
    case.equal("places in the tree", len(rows), len(want))
    for row in rows:
        above = above[:row["depth"]] + [row["function"]]
        last = last[:row["depth"]] + [row["total_ns"]]
        total, own = want.get(tuple(above), (0, 0))
        case.equal(f"samples of {above}", row["samples"], total)
        case.equal(f"time of {above}", row["total_ns"], total * MILLISECOND)
        if "self_ns" in row:
            case.equal(f"own time of {above}", row["self_ns"], own * MILLISECOND)
        if row["depth"] > 0:
            case.at_most(f"time of {above}", row["total_ns"], last[-2])
