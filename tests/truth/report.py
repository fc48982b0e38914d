"""The report of a program with a device: each nanosecond has one part, and the planted cause is the first finding."""

from kit import Trace
from same_answer import FOLDER, parquet_rows

NAMES = 25  # so many kernels share the time evenly


class Program:
    """A main thread that launches, a queue that works. Steps follow each other; kernels are launched long before."""

    def __init__(self, case):
        self.random = case.random
        self.trace = Trace()
        self.main = self.trace.thread(1, 1, "main")
        self.queue = self.trace.stream(0, 7)
        self.copies = self.trace.stream(0, 8)
        self.steps = self.random.randrange(4, 9)
        self.kernel_ns = self.random.randrange(20_000, 60_000)
        self.now = self.first = 100_000_000  # the launches of the first step come before it
        self.calls = 0
        self.parts = {}

    def count(self, part, ns):
        self.parts[part] = self.parts.get(part, 0) + ns

    def work(self, name, length, part, launched, queue=None, took=2_000, **more):
        """The next operation, at once. `launched` is when its call begins."""
        self.calls += 1
        self.main.call("cudaLaunchKernel", launched, launched + took, self.calls)
        (queue or self.queue).work(name, self.now, self.now + length, self.calls, **more)
        self.now += length
        self.count(part, length)

    def idle(self, part, length):
        self.now += length
        self.count("device idle: " + part, length)

    def kernels(self, length):
        for i in range(NAMES):
            self.work(f"kernel {i}", length, "device computes", self.now - 50_000_000 + i * 4_000)

    def run(self, plant):
        for step in range(self.steps):
            begin = self.now
            self.kernels(self.kernel_ns)
            plant(step)
            self.main.range(f"ProfilerStep#{step}", begin, self.now)
        return self.trace


def late(program, length):
    def plant(step):
        gap = program.now
        program.main.range("load data", gap + 100, gap + length - 100, cat="cpu_op")
        program.idle("launch came late", length)
        program.idle("launch latency", 3_000)
        program.work("after", 1_000, "device computes", gap + length)
    return plant, "load data"


def copies(program, length):
    def plant(step):
        program.work("Memcpy HtoD", length, "copies that nothing hides", program.now - 10_000_000, program.copies,
                     cat="gpu_memcpy")
    return plant, "Memcpy HtoD"


def communication(program, length):
    def plant(step):
        program.work("ncclDevKernel_AllReduce_Sum_f32", length, "communication that no computation hides",
                     program.now - 10_000_000, program.copies)
    return plant, "AllReduce"


def queued(program, length):
    def plant(step):
        launched = program.now - 10_000_000
        program.idle("queued, not started", length)
        program.work("after", 1_000, "device computes", launched)
    return plant, "queued"


def latency(program, length):
    count = program.random.choice([10, 100])  # a device of another machine takes long for each launch

    def plant(step):
        for i in range(count):
            launched = program.now
            program.idle("launch latency", length // count)
            program.work(f"short {i % NAMES}", 1_000, "device computes", launched)
    return plant, "between a launch and the start"


def slow_launch(program, length):
    def plant(step):
        if step == 1:
            launched = program.now
            program.idle("launch latency", program.steps * length)
            program.work("after", 1_000, "device computes", launched, took=program.steps * length - 500)
    return plant, "cudaLaunchKernel"


def kernel(program, length):
    def plant(step):
        program.work("the slow kernel", length, "device computes", program.now - 10_000_000)
    return plant, "the slow kernel"


def uneven(program, length):
    def plant(step):
        if step == 2:
            program.kernels(program.steps * length // NAMES)
    return plant, "number 2"


def nothing(program, length):
    def plant(step):
        pass
    return plant, None


def profiler(program, length):
    """A profiler delays the launches: that is not the program's time."""
    def plant(step):
        gap = program.now
        program.main.range("Activity Buffer Request", gap, gap + length, cat="overhead")
        program.now += length
        program.count("cost of profiling", length)
        program.idle("launch latency", 3_000)
        program.work("after", 1_000, "device computes", gap + length)
    return plant, None


def hidden(program, length):
    """A kernel that has the most time, mostly while another queue computes."""
    def plant(step):
        for name, queue, end in (("the hidden kernel", program.copies, length), ("its cover", program.queue, length * 3 // 4)):
            program.calls += 1
            program.main.call("cudaLaunchKernel", program.now - 10_000_000, program.now - 9_998_000, program.calls)
            queue.work(name if queue is program.copies else f"{name} {step}", program.now, program.now + end, program.calls)
        program.now += length
        program.count("device computes", length)
    return plant, "only the time in which nothing else runs"


PLANTED = [(late, "late launches"), (copies, "copies"), (communication, "communication"), (queued, "queued"),
           (latency, "launch latency"), (slow_launch, "slow launches"), (kernel, "kernel"), (hidden, "kernel"),
           (uneven, "uneven iterations"), (nothing, None), (profiler, None)]


def check_push(case, device):
    """A push stores the same parts of the time of a device."""
    if not (FOLDER / "libexec/kymo/kymo-fleet").exists():
        return
    tables = case.folder / "tables"
    case.run("push", case.folder / "run.json", f"parquet:{tables}", "--quiet")
    want = {"compute": device["compute_ns"], "communication": device["exposed_communication_ns"],
            "copies": device["exposed_copies_ns"], "cost of profiling": device["profiling_ns"],
            **{f"idle: {cause}": ns for cause, ns in device["idle_ns"].items()}}
    got = {row["part"]: row["ns"] for row in parquet_rows(tables, "device_time")}
    got.pop("outside of iterations", None)
    case.equal("push: parts of the device", got, {part: ns for part, ns in want.items() if ns != 0})


def check(case):
    plan, kind = PLANTED[case.seed % len(PLANTED)]
    program = Program(case)
    step_ns = NAMES * program.kernel_ns
    length = case.random.randrange(step_ns // 2, 2 * step_ns)
    plant, evidence = plan(program, length)
    report = case.json("report", program.run(plant).write(case.folder / "run.json"))
    window = program.now - program.first
    case.equal("window", report["window_ns"], window)
    case.equal("iterations", report["iterations"]["count"], program.steps)
    case.equal("parts", {part["name"]: part["ns"] for part in report["parts"]}, program.parts)
    case.equal("sum of the parts", sum(part["ns"] for part in report["parts"]), window)
    device = report["devices"][0]
    busy = sum(ns for part, ns in program.parts.items() if "idle" not in part and "profiling" not in part)
    case.equal("busy time", window - sum(device["idle_ns"].values()) - device["profiling_ns"], busy)

    check_push(case, device)

    findings = report["findings"]
    for one in findings:
        case.at_most(f"saving of {one['kind']}", one["saves_ns"], window)
        case.equal(f"saving per iteration of {one['kind']}", one["saves_per_iteration_ns"],
                   one["saves_ns"] // program.steps)
        case.true(f"evidence of {one['kind']}", one["evidence"] and one["command"].startswith("kymo "))
        for text in [one["text"], *one["evidence"]]:
            case.true(f"no cost of profilers in {text}", "Buffer Request" not in text)
    if kind is None:
        case.true(f"findings of a program with nothing wrong: {findings}", all(one["kind"] == "kernel" for one in findings))
        return
    first = findings[0]
    case.equal("first finding", first["kind"], kind)
    case.true(f"{evidence} in {first}", any(evidence in text for text in [first["text"], *first["evidence"]]))
    case.at_most("saving", first["saves_ns"], program.steps * length)
    share = {kernel: 0.45, hidden: 0.2}.get(plan, 0.9)
    case.true(f"saving {first['saves_ns']} is near {program.steps * length}",
              first["saves_ns"] >= share * program.steps * length)
