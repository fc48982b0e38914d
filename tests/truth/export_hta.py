"""Exports as Chrome JSON, read as HTA does: what each stream does, its idle time, and the launches of its work.

HTA takes every event with the argument "stream" as work of that stream, knows copies by their names, and finds launches by
their names and correlations. The work of all interfaces must look so, and no stream may be busy twice.
"""

import json

from kit import Trace

# Category and names of work on a queue, with HTA's kind of it.
WORK = [
    ("kernel", ["scale", "gemm"], "COMPUTATION"),
    ("", ["unnamed"], "COMPUTATION"),
    ("draw", ["draw"], "COMPUTATION"),
    ("graph", ["graph 7"], "COMPUTATION"),
    ("kernel", ["command buffer"], "COMPUTATION"),  # its content is not known
    ("kernel", ["ncclDevKernel_AllReduce"], "COMMUNICATION"),
    ("copy", ["copy host to device", "copy between devices", "copy buffer", "blit image", "map", "unmap", "migrate"],
     "MEMORY"),
    ("fill", ["fill", "fill buffer"], "MEMORY"),
    ("gpu_memcpy", ["Memcpy DtoH (Device -> Pinned)", "copy on device"], "MEMORY"),
    ("gpu_memset", ["Memset (Device)"], "MEMORY"),
]
# Calls that launch work: category and name here, and the name that HTA looks for.
CALLS = [
    ("device", "launch gemm", "cudaLaunchKernel"),
    ("device", "submit", "cudaLaunchKernel"),
    ("device", "queue map", "cudaMemcpyAsync"),
    ("device", "queue fill", "cudaMemsetAsync"),
    ("cuda", "cuLaunchKernel", "cuLaunchKernel"),
    ("cuda", "cuLaunchKernelEx", "cuLaunchKernel"),
    ("cuda", "cuMemcpyHtoDAsync", "cudaMemcpyAsync"),
    ("cuda_runtime", "cudaLaunchKernel", "cudaLaunchKernel"),
]
AROUND = [("device range", "command buffer"), ("device range", "frame"), ("gpu_user_annotation", "step")]


def nanoseconds(microseconds):
    return round(float(microseconds) * 1000)


def hta_kind(name):
    if name.startswith("nccl"):
        return "COMMUNICATION"
    return "MEMORY" if name.startswith(("Memcpy", "Memset")) else "COMPUTATION"


class Truth:
    def __init__(self):
        self.busy = {}  # by kind
        self.idle = {}  # by device and queue
        self.launches = []  # name, delay
        self.calls = 0


def make_queue(case, trace, truth, device, number):
    """Work one after the other, with labels around it and waits between it."""
    thread, queue = trace.thread(100, 1000 + number, f"worker {number}"), trace.stream(device, number)
    time, idle, last_end = case.random.randrange(10_000, 20_000), 0, None
    for _ in range(case.random.randrange(5, 30)):
        begin = time
        for _ in range(case.random.randrange(1, 4)):
            category, names, kind = case.random.choice(WORK)
            length = case.random.randrange(1, 9_000)
            truth.calls += 1
            call_category, call, launch = case.random.choice(CALLS)
            thread.call(call, time - 5_000, time - 4_000, truth.calls, cat=call_category)
            queue.work(case.random.choice(names), time, time + length, truth.calls, cat=category)
            truth.launches.append((launch, 5_000))
            truth.busy[kind] = truth.busy.get(kind, 0) + length
            idle += time - last_end if last_end is not None else 0
            last_end = time = time + length
            if case.random.random() < 0.3:
                queue.work("marker", begin, time, cat="sync")
            time += case.random.choice([0, 0, case.random.randrange(3_000)])
        category, name = case.random.choice(AROUND)
        queue.range(name, begin, last_end, cat=category, device=device, stream=number)
        time += case.random.choice([0, case.random.randrange(20_000)])
    truth.idle[(device, number)] = idle


def read(path):
    """HTA's table: complete events, those with a stream, and the calls."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("ph") == "X"]
    for event in events:
        event["begin"], event["length"] = nanoseconds(event["ts"]), nanoseconds(event["dur"])
    return events, [event for event in events if event["args"].get("stream", -1) != -1]


def streams_of(work):
    streams = {}
    for event in sorted(work, key=lambda event: event["begin"]):
        streams.setdefault((event["args"]["device"], event["args"]["stream"]), []).append(event)
    return streams


def idle_of(events):
    return [after["begin"] - before["begin"] - before["length"] for before, after in zip(events, events[1:])]


def check(case):
    trace, truth = Trace(), Truth()
    for device in range(case.random.randrange(1, 3)):
        for number in range(7, 7 + case.random.randrange(1, 4)):
            make_queue(case, trace, truth, device, number)
    original = trace.write(case.folder / "run.json")
    case.run("export", original, "-o", case.folder / "out.json")
    events, work = read(case.folder / "out.json")

    categories = {"COMPUTATION": {"kernel"}, "COMMUNICATION": {"kernel"}, "MEMORY": {"gpu_memcpy", "gpu_memset"}}
    busy = {}
    for event in work:
        kind = hta_kind(event["name"])
        busy[kind] = busy.get(kind, 0) + event["length"]
        case.true(f"category of {event['name']}: {event['cat']}", event["cat"] in categories[kind])
    case.equal("busy time by kind", busy, truth.busy)
    streams = streams_of(work)
    idle = {stream: sum(idle_of(of)) for stream, of in streams.items()}
    case.true("no stream is busy twice", all(gap >= 0 for of in streams.values() for gap in idle_of(of)))
    case.equal("idle time of each stream", idle, truth.idle)

    calls = {}
    for event in events:
        if "stream" not in event["args"] and event["args"].get("correlation"):
            case.true("one call for each correlation", event["args"]["correlation"] not in calls)
            calls[event["args"]["correlation"]] = event
    found = sorted((calls[event["args"]["correlation"]]["name"],
                    event["begin"] - calls[event["args"]["correlation"]]["begin"]) for event in work)
    case.equal("launches and their delays", found, sorted(truth.launches))
    case.true("categories of calls", all(call["cat"] in ("cuda_runtime", "cuda_driver") for call in calls.values()))

    # There and back, it is the same trace; in JSON with Kineto's names.
    case.run("export", original, "-o", case.folder / "out.pftrace")
    case.equal("rows of out.pftrace", rows_of(case, case.folder / "out.pftrace"), rows_of(case, original))
    case.equal("sums of out.json", sums_of(case, case.folder / "out.json"), sums_of(case, original))
    overlapping(case)


def rows_of(case, path):
    rows = case.json("stats", path, "--full-text", "--top", "1000")["rows"]
    return sorted((row["name"], row.get("category", ""), row["count"], row["total_ns"], row["self_ns"]) for row in rows)


def sums_of(case, path):
    """Ranges, their total and their self time."""
    return [sum(row[i] for row in rows_of(case, path)) for i in (2, 3, 4)]


def overlapping(case):
    """Commands of one queue that overlap, as Vulkan's do."""
    trace = Trace()
    queue, total = trace.stream(0, 3), 0
    for i in range(case.random.randrange(2, 60)):
        begin, length = case.random.randrange(0, 100_000), case.random.randrange(1, 30_000)
        queue.work(f"dispatch {i % 3}", begin, begin + length, i + 1, cat="kernel")
        total += length
    path = trace.write(case.folder / "overlapping.json")
    case.run("export", path, "-o", case.folder / "apart.json")
    _, work = read(case.folder / "apart.json")
    streams = streams_of(work)
    case.equal("work of all streams", sum(event["length"] for event in work), total)
    case.true("no stream is busy twice", all(gap >= 0 for of in streams.values() for gap in idle_of(of)))
    case.equal("rows", rows_of(case, case.folder / "apart.json"), rows_of(case, path))
