"""Ranges of a thread that overlap slightly, and work of a queue that overlaps: each moment belongs to one range.

The ranges are first inside each other. Then some of them get later ends, so that they cross what is around or after them.
Such a change moves a known time from one range to another.
"""

from kit import Trace


class Node:
    def __init__(self, name, begin, end):
        self.name, self.begin, self.end, self.inner, self.self_ns = name, begin, end, [], end - begin


def grow(case, node, depth):
    time = node.begin + case.random.randrange(1, 300)
    while depth < 5 and node.end - time > 2_000:
        length = case.random.randrange(900, max(901, (node.end - time) // case.random.choice([1, 2, 4])))
        inner = Node(f"depth {depth} kind {case.random.randrange(3)}", time, time + length)
        node.inner.append(inner)
        node.self_ns -= length
        grow(case, inner, depth + 1)
        time += length + case.random.randrange(2, 3_000)
    return node


def cross(case, node, is_root):
    """The root is the time of the thread; it is no range. Returns how much longer the thread is inside of ranges."""
    for at, inner in enumerate(node.inner):
        next_begin = node.inner[at + 1].begin if at + 1 < len(node.inner) else node.end
        gap = next_begin - inner.end
        how = case.random.randrange(4)
        if how == 0 and at + 1 < len(node.inner):
            # It ends a moment after the next one has begun, which has the time that both share.
            inner.self_ns += gap
            node.self_ns -= gap
            inner.end = next_begin + case.random.randrange(1, 50)
        elif how == 1 and inner.inner and gap > 1:
            # The last range inside ends a moment after the range around it.
            last, late = inner.inner[-1], case.random.randrange(1, min(gap, 50))
            last.self_ns += inner.end - last.end + late
            inner.self_ns -= inner.end - last.end
            node.self_ns -= late
            last.end = inner.end + late
    for inner in node.inner:
        cross(case, inner, False)


def nodes_in(node):
    for inner in node.inner:
        yield inner
        yield from nodes_in(inner)


def add(sums, name, *values):
    sums[name] = tuple(a + b for a, b in zip(sums.get(name, (0,) * len(values)), values))


def check(case):
    trace, names, tracks = Trace(), {}, {}
    for pid in (7, 8):
        for tid in (1, 2):
            thread = trace.thread(pid, tid, f"worker {pid}.{tid}")
            length = case.random.randrange(20_000, 400_000)
            root = grow(case, Node("", 0, length), 0)
            cross(case, root, True)
            for node in nodes_in(root):
                thread.range(node.name, node.begin, node.end)
                add(names, node.name, 1, node.end - node.begin, node.self_ns)
            tracks[f"worker {pid}.{tid}"] = length - root.self_ns

    # Work of a queue: each may overlap the next one, which has the time that both share, and may be inside of it.
    stream, time, busy = trace.stream(0, 5), case.random.randrange(0, 1_000), 0
    for number in range(case.random.randrange(1, 60)):
        first, second = time, time + case.random.randrange(1, 500)
        ends = sorted(case.random.sample(range(second + 1, second + 5_000), 2))
        if case.random.randrange(2):  # the second is inside the first
            stream.work("first", first, ends[1])
            stream.work("second", second, ends[0])
            add(names, "first", 1, ends[1] - first, second - first + ends[1] - ends[0])
            add(names, "second", 1, ends[0] - second, ends[0] - second)
        else:
            stream.work("first", first, ends[0])
            stream.work("second", second, ends[1])
            add(names, "first", 1, ends[0] - first, second - first)
            add(names, "second", 1, ends[1] - second, ends[1] - second)
        busy += ends[1] - first
        time = ends[1] + case.random.randrange(0, 1_000)
    case.random.shuffle(trace.events)
    path = trace.write(case.folder / "run.json")

    rows = {row["name"]: row for row in case.json("stats", path)["rows"]}
    case.equal("names", sorted(rows), sorted(names))
    for name, row in rows.items():
        case.equal(f"count, total and self time of {name}", (row["count"], row["total_ns"], row["self_ns"]), names[name])

    threads = {row["thread"]: row for row in case.json("stats", path, "--by", "thread")["rows"]}
    queue = next(name for name, row in threads.items() if row.get("on_device"))
    tracks[queue] = busy
    for name, covered in tracks.items():
        case.equal(f"self time of thread {name}", threads[name]["self_ns"], covered)

    flame, shown = case.json("flame", path)["frames"], {}
    for frame in flame:
        if frame["kind"] in ("range", "work"):
            add(shown, frame["name"], frame["count"], frame["self_ns"])
    case.equal("paths", shown, {name: (count, own) for name, (count, _, own) in names.items()})
    for frame in flame:
        if frame["kind"] == "track":
            case.equal(f"flame, time of {frame['name']}", frame["total_ns"], tracks[frame["name"]])

    for row in case.json("timeline", path)["rows"]:
        case.equal(f"timeline, time of {row['track']}", row["busy_ns"], tracks[row["track"]], 1e-6)
