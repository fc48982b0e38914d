"""The critical path of programs whose causes are known, because a small simulator ran them: `kymo path`.

Each moment of a simulated program knows the moment that it waited for, and what the time between the two is called. So
the right path is the chain of these moments. The right answer to a what-if is a second run of the same program, in which
the changed names take more or less time.
"""

import collections
import random

from kit import Trace

LATENCY, GAP, CALL, RETURN, WAKE = 6_000, 1_000, 4_000, 3_000, 5_000


class Moment:
    """A point in time. The time since the moment before it, which caused it, has a name."""

    def __init__(self, time, before=None, name=None):
        self.time, self.before, self.name = time, before, name

    def after(self, length, name):
        return Moment(self.time + length, self, name)


def last(*moments):
    return max(moments, key=lambda moment: moment.time)


class Operation:
    def __init__(self, launch, end):
        self.launch, self.end = launch, end


class Queue:
    """A queue of a device. With a depth, a launch waits until so many operations are not left in it."""

    def __init__(self, program, number, depth=None):
        self.program, self.depth = program, depth
        self.stream = program.trace.stream(0, number)
        self.number, self.operations, self.needs = number, [], []

    def start(self, launch):
        """When an operation begins that was launched at this moment."""
        ready = [launch.after(LATENCY, "(launch latency)")]
        if self.operations:
            ready.append(self.operations[-1].end.after(GAP, "(waiting in the queue)"))
        ready += [end.after(GAP, "(waiting for another queue)") for end in self.needs]
        self.needs = []
        return last(*ready)


class Worker:
    """A thread of a program."""

    def __init__(self, program, tid, name, begin=0):
        self.program, self.now = program, Moment(begin, None, "(outside of any range)")
        self.thread = program.trace.thread(program.pid, tid, name)
        self.around = ["(outside of any range)"]

    def work(self, name, length):
        begin, length = self.now.time, self.program.scaled(name, length)
        self.now = self.now.after(length, name)
        self.thread.range(name, begin, self.now.time, cat="cpu_op")

    def pause(self, length):
        self.now = self.now.after(self.program.scaled(self.around[-1], length), self.around[-1])

    def enter(self, name, shown=None):
        self.around.append(shown or name)
        return name, self.now.time

    def leave(self, entered):
        self.around.pop()
        self.thread.range(entered[0], entered[1], self.now.time)

    def launch(self, queue, kernel, length, call="cudaLaunchKernel", cat="kernel", start=None):
        """The call takes its time, and longer if the queue is full."""
        number, begin = self.program.number(), self.now
        calls = begin.after(self.program.scaled(call, CALL), call)
        if queue.depth and len(queue.operations) >= queue.depth:
            room = queue.operations[-queue.depth].end
            if room.time > begin.time:
                calls = last(calls, room.after(WAKE, "(return from the device)"))
        start = (start or queue.start)(begin)
        operation = Operation(begin, start.after(self.program.scaled(kernel, length), kernel))
        queue.operations.append(operation)
        self.thread.call(call, begin.time, calls.time, number)
        queue.stream.work(kernel, start.time, operation.end.time, number, cat=cat)
        self.now = calls
        return operation

    def synchronize(self, queues, call="cudaDeviceSynchronize"):
        begin = self.now
        ends = [queue.operations[-1].end for queue in queues if queue.operations]
        waited = [end for end in ends if end.time >= begin.time]
        own = begin.after(self.program.scaled(call, RETURN), call)
        self.now = last(*waited).after(RETURN, "(return from the device)") if waited else own
        self.thread.call(call, begin.time, self.now.time, self.program.number())

    def wait_for_event(self, queue, other, with_record):
        """What is launched next on the queue begins after what the other one has now."""
        record = self.program.number()
        self.thread.call("cudaEventRecord", self.now.time, self.now.time + 1_000, record)
        self.now = self.now.after(1_000, "cudaEventRecord")
        wait, begin = self.program.number(), self.now.time
        self.now = self.now.after(1_000, "cudaStreamWaitEvent")
        self.thread.call("cudaStreamWaitEvent", begin, self.now.time, wait)
        if with_record:
            queue.stream.work("Stream Wait Event", begin, begin + 1_000, wait, cat="cuda_sync",
                              wait_on_stream=other.number, wait_on_cuda_event_record_corr_id=record)
        if other.operations:
            queue.needs.append(other.operations[-1].end)


class Program:
    def __init__(self, seed, factors=None, pid=7, base_number=0):
        self.random, self.factors, self.pid = random.Random(seed), factors or {}, pid
        self.trace, self.numbers = Trace(), base_number
        self.knows_all_events = True  # also of those that nothing waited for
        self.travel = 0  # of messages: for those that nothing waited for, the trace does not say how long they travel
        self.trace.process_name(pid, f"program{pid}")
        self.trace.event("M", "process_labels", 0, 0, None, args={"labels": "GPU 0"})

    def number(self):
        self.numbers += 1
        return self.numbers

    def scaled(self, name, length):
        return round(length * self.factors.get(name, 1))

    def between(self, least, most):
        return self.random.randrange(least, most)


# ---- Programs: each returns the end of its step, and the begin of it ----------------------------------------------


def forward(program, main, queue, count, shortest, longest, gap=(500, 3_000)):
    for _ in range(count):
        main.work("aten::op", program.between(1_000, 6_000))
        main.pause(program.between(*gap))
        main.launch(queue, program.random.choice(["gemm", "relu"]), program.between(shortest, longest))


def gpu_bound(program):
    """The queue is full after some launches, and every further one waits. Nothing synchronizes."""
    main, queue = Worker(program, 1, "main"), Queue(program, 7, depth=program.between(8, 40))
    step = main.enter("step 1", "step {}")
    forward(program, main, queue, program.between(120, 240), 20_000, 90_000)
    main.leave(step)
    return main.now


def cpu_bound(program):
    main, queue = Worker(program, 1, "main"), Queue(program, 7)
    step = main.enter("step 1", "step {}")
    forward(program, main, queue, program.between(50, 150), 500, 4_000, gap=(6_000, 20_000))
    main.leave(step)
    return main.now


def synchronized(program):
    main, queue = Worker(program, 1, "main"), Queue(program, 7)
    step = main.enter("step 1", "step {}")
    for _ in range(program.between(1, 6)):
        forward(program, main, queue, program.between(3, 30), 500, program.random.choice([4_000, 40_000, 200_000]))
        main.synchronize([queue], program.random.choice(["cudaDeviceSynchronize", "cudaStreamSynchronize"]))
        main.pause(program.between(1_000, 50_000))
    main.leave(step)
    return main.now


def autograd(program):
    """The backward pass is on a thread of its own, and the main thread does nothing meanwhile."""
    with_flows, with_depth = program.random.random() < 0.5, program.random.random() < 0.5
    main, engine = Worker(program, 1, "main"), Worker(program, 2, "pt_autograd_0")
    queue = Queue(program, 7, depth=16 if with_depth else None)
    longest = 100_000 if with_depth else 5_000
    step = main.enter("step 1", "step {}")
    forward(program, main, queue, program.between(30, 80), 500, longest)
    if program.random.random() < 0.5:
        backward = main.enter("## backward ##")
        main.work("aten::ones_like", 2_000)
    else:
        backward = None
    last_forward = main.now.time - 1_000
    main.pause(program.between(2_000, 30_000))
    engine.now = main.now
    for number in range(program.between(40, 90)):
        if number:
            engine.pause(program.between(500, 3_000))
        around = engine.enter("autograd::engine::evaluate_function: MmBackward0")
        if with_flows:
            program.trace.flow(1 + number, main.thread, last_forward - number * 3, engine.thread, engine.now.time + 1,
                               name="fwdbwd", cat="fwdbwd")
        engine.work("aten::mm", program.between(2_000, 9_000))
        engine.launch(queue, "gemm_backward", program.between(500, longest))
        engine.leave(around)
    main.now = engine.now
    main.pause(program.between(2_000, 30_000))
    if backward:
        main.leave(backward)
    main.work("Optimizer.step", program.between(10_000, 40_000))
    if program.random.random() < 0.3:
        main.synchronize([queue])
    main.leave(step)
    return main.now


def future(program):
    """The main thread waits for workers inside of a range."""
    main, worker = Worker(program, 1, "main"), Worker(program, 2, "worker")
    step = main.enter("step 1", "step {}")
    for number in range(program.between(1, 8)):
        main.work("prepare", program.between(5_000, 60_000))
        travel = program.between(1_000, 5_000)
        if worker.now.time <= main.now.time:  # it is idle; otherwise the task is there when it comes to it
            worker.now = main.now.after(travel, "(handover to another thread)")
        program.trace.flow(2 * number + 1, main.thread, main.now.time, worker.thread, worker.now.time, name="task")
        worker.work("produce", program.between(20_000, 200_000))
        sent = worker.now
        main.work("other", program.between(1_000, 100_000))
        get = main.enter("future.get")
        program.travel += travel
        travel, own = program.between(500, 2_000), program.between(200, 900)
        program.travel += travel + own
        arrived = sent.after(travel, "(handover to another thread)")
        entered = main.now
        main.now = last(entered.after(own, "future.get"), arrived)
        if sent.time < entered.time:  # it was there before, and is read at once
            main.now = entered.after(main.now.time - entered.time, "future.get")
        program.trace.flow(2 * number + 2, worker.thread, sent.time, main.thread, main.now.time, name="result")
        main.pause(program.between(500, 2_000))
        main.leave(get)
        worker.work("tidy up", 10_000)
    main.work("finish", program.between(1_000, 50_000))
    main.leave(step)
    return main.now


def two_streams(program):
    """Two queues that wait for each other by events."""
    main = Worker(program, 1, "main")
    queues = [Queue(program, 7), Queue(program, 13)]
    with_record = program.random.random() < 0.5
    step = main.enter("step 1", "step {}")
    for _ in range(program.between(2, 8)):
        for queue, other in (queues, reversed(queues)):
            for _ in range(program.between(1, 4)):
                main.launch(queue, f"kernel {queue.number}", program.between(60_000, 300_000))
            main.pause(program.between(500, 3_000))
            main.wait_for_event(other, queue, with_record)
    main.launch(queues[0], "kernel 7", 80_000)
    main.synchronize(queues)
    main.leave(step)
    return main.now


def silent_streams(program):
    """Two queues that wait for each other, and no call in the trace says so."""
    main = Worker(program, 1, "main")
    queues = [Queue(program, 7), Queue(program, 13)]
    step = main.enter("step 1", "step {}")
    forward(program, main, queues[0], 3, 500, 1_000, gap=(20_000, 30_000))
    main.synchronize(queues)
    for _ in range(program.between(2, 8)):
        for queue, other in (queues, reversed(queues)):
            for _ in range(program.between(1, 4)):
                main.launch(queue, f"kernel {queue.number}", program.between(100_000, 400_000))
            other.needs.append(queue.operations[-1].end)
    main.launch(queues[0], "kernel 7", 80_000)
    main.synchronize(queues)
    main.leave(step)
    return main.now


def held(program):
    """Operations that are launched, alone on the device, and begin late. Nothing says why."""
    main, queue = Worker(program, 1, "main"), Queue(program, 7)
    program.held = 0
    step = main.enter("step 1", "step {}")
    for number in range(program.between(10, 30)):
        main.work("aten::op", program.between(1_000, 6_000))
        length = program.between(100_000, 900_000) if number % 3 == 2 else 0
        program.held += length
        main.launch(queue, "gemm", program.between(5_000, 50_000), start=lambda launch: launch.after(
            LATENCY, "(launch latency)").after(length, "(queued, not started)"))
        main.synchronize([queue])
    main.leave(step)
    return main.now


def ranks(programs):
    """Several ranks with collectives. One rank is late. Returns the end of the step of each."""
    shared = random.Random(programs[0].random.random())
    mains = [Worker(program, 1, "main", shared.randrange(0, 20_000)) for program in programs]
    computes, comms = ([Queue(program, number) for program in programs] for number in (7, 13))
    steps = [main.enter("step 1", "step {}") for main in mains]
    late = shared.randrange(len(programs))
    with_record = shared.random() < 0.5
    programs[0].knows_all_events = with_record
    for _ in range(shared.randrange(5, 10)):
        transfer, starts = shared.randrange(50_000, 250_000), []
        for rank, program in enumerate(programs):
            main = mains[rank]
            main.work("load", program.between(10_000, 30_000) + (program.between(0, 400_000) if rank == late else 0))
            for _ in range(program.between(1, 5)):
                main.launch(computes[rank], "gemm", program.between(20_000, 60_000))
            main.wait_for_event(comms[rank], computes[rank], with_record)
            starts.append((main.now, comms[rank].start(main.now)))
        arrived = last(*(start for _, start in starts))
        for rank, program in enumerate(programs):
            length = program.scaled("ncclDevKernel_AllReduce_Sum_f32_RING_LL", transfer)
            end = arrived.after(length, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
            launch, start = starts[rank]
            number, main = program.number(), mains[rank]
            main.now = launch.after(CALL, "cudaLaunchKernel")
            main.thread.call("cudaLaunchKernel", launch.time, main.now.time, number)
            comms[rank].operations.append(Operation(launch, end))
            comms[rank].stream.work("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start.time, end.time, number)
            main.wait_for_event(computes[rank], comms[rank], with_record)
            if shared.random() < 0.3:
                main.launch(computes[rank], "relu", program.between(10_000, 30_000))
                main.synchronize([computes[rank]], "cudaStreamSynchronize")
    for rank, main in enumerate(mains):
        main.launch(computes[rank], "relu", 20_000)
        main.synchronize([computes[rank], comms[rank]])
        main.leave(steps[rank])
    return [(main.now, step[1]) for main, step in zip(mains, steps)]


# ---- The check ----------------------------------------------------------------------------------------------------


def right_rows(end, begin):
    rows = collections.Counter()
    while end is not None and end.time > begin:
        before = max(end.before.time if end.before else begin, begin)
        rows[end.name] += end.time - before
        end = end.before
    return {name: ns for name, ns in rows.items() if ns > 0}


def holds_for_any(case, path, names):
    """What must be true whatever the trace is. Returns the answer."""
    answer = case.json("path", path, "--all")
    at = 0
    for segment in answer["segments"]:
        case.equal("a segment begins where the one before it ends", segment["start_ns"], at)
        case.true("a segment has a length", segment["duration_ns"] > 0)
        at += segment["duration_ns"]
    case.equal("the segments cover the window", at, answer["length_ns"])
    case.equal("sum of the rows", sum(row["ns"] for row in answer["rows"]), answer["length_ns"])
    for name in [*names, "*"]:
        on_path = sum(row["ns"] for row in answer["rows"] if name in ("*", row["what"]) and row["what"][0] != "(")
        for factor in (0, case.random.choice([0.25, 0.5, 0.9]), 1):
            new = case.json("path", path, "--what-if", f"{name}={factor}")["what_if"][0]
            saved = answer["length_ns"] - new["length_ns"]
            case.equal(f"time of {name} on the path", new["on_path_ns"], on_path if factor != 1 else 0)
            case.at_most(f"saved by {name}={factor}", saved, round(on_path * (1 - factor)) + 1)
            case.true(f"less work takes more time: {name}={factor}", saved >= 0)
    return answer


def compare(case, kind, path, end, begin, simulate=None, travel=0):
    """`simulate`: runs the program again, with factors by name, and returns the new length."""
    right = right_rows(end, begin)
    length = end.time - begin
    answer = holds_for_any(case, path, case.random.sample(sorted(name for name in right if name[0] != "("), 1))
    case.equal(f"{kind}: length", answer["length_ns"], length)
    rows = collections.Counter()
    for row in answer["rows"]:
        rows[row["what"]] += row["ns"]
    wrong = {name: (rows[name], right.get(name, 0)) for name in {*rows, *right}
             if abs(rows[name] - right.get(name, 0)) > 0.01 * length}
    case.true(f"{kind}: the path has (kymo, right) {wrong}", not wrong)
    if simulate is None:
        return
    factor = case.random.choice([0, 0.3, 0.5, 0.8, 1.5, 3])
    for name in ["gemm", *case.random.sample(sorted(name for name in right if name[0] != "("), 2)]:
        if name.startswith(("cuda", "future")):
            continue  # these calls wait
        new = case.json("path", path, "--what-if", f"{name}={factor}")["what_if"][0]["length_ns"]
        right_length = simulate({name: factor})
        case.true(f"{kind}: length with {name}={factor} instead of {length}: kymo says {new}, right is {right_length}",
                  abs(new - right_length) <= 0.01 * right_length + travel)


def profiled(case):
    """The work of a profiler is on the path, but it is not the program's."""
    trace, now = Trace(), 0
    main, sums = trace.thread(7, 1, "main"), collections.Counter()
    for _ in range(case.random.randrange(1, 20)):
        for name, what, cat in (("work", "work", "cpu_op"), ("Activity Buffer Request", "(cost of profiling)", "overhead")):
            length = case.random.randrange(1_000, 90_000)
            main.range(name, now, now + length, cat=cat)
            sums[what] += length
            now += length
    path = trace.write(case.folder / "profiled.json")
    answer = holds_for_any(case, path, ["work"])
    case.equal("cost of profiling on the path", {row["what"]: row["ns"] for row in answer["rows"]}, dict(sums))
    new = case.json("path", path, "--what-if", "*=0")["what_if"][0]["length_ns"]
    case.equal("a what-if does not change it", new, sums["(cost of profiling)"])


def hanging(case):
    """The last thing that a thread does never ends."""
    trace = Trace()
    main, other = trace.thread(7, 1, "main"), trace.thread(7, 2, "other")
    begin, end = case.random.randrange(1_000, 50_000), case.random.randrange(200_000, 900_000)
    if case.random.random() < 0.5:
        main.range("load", 0, begin)
    else:
        begin = 0
    main.open_range("hang", begin)
    other.instant("alive", end)
    answer = holds_for_any(case, trace.write(case.folder / "run.json"), ["hang"])
    rows = {row["what"]: row["ns"] for row in answer["rows"]}
    case.equal("an unfinished range lasts until the end", rows.get("hang"), end - begin)
    for number in range(3):  # it is in no iteration
        other.range(f"step {number}", number * (end // 3), (number + 1) * (end // 3))
    answer = case.json("path", trace.write(case.folder / "run.json"))
    case.equal("the path of an iteration says that a thread hangs", answer["unfinished"], 1)


def anything(case):
    """Ranges, operations and flows without any sense."""
    trace, rand = Trace(), case.random
    trace.event("M", "process_labels", 0, 0, None, args={"labels": "GPU 0"})
    threads = [trace.thread(7, tid, f"thread {tid}") for tid in range(1, rand.randrange(2, 5))]
    streams = [trace.stream(0, number) for number in (7, 8)]
    names = ["work", "waiting for the collector", "future.get", "cudaDeviceSynchronize", "cudaStreamWaitEvent", "autograd::engine::evaluate_function: A"]
    rounded = rand.choice([1, 1_000, 20_000])  # some tools round times, so that many things happen at once
    for number in range(1, rand.randrange(20, 200)):
        thread, begin = rand.choice(threads), rand.randrange(0, 400_000) // rounded * rounded
        length = rand.choice([0, 1, 1_000, 30_000, 200_000])
        if rand.random() < 0.5:
            name = rand.choice(names)
            cat = "kymo" if name == "waiting for the collector" else "user_annotation"
            thread.range(name, begin, begin + rand.randrange(0, length + 1), cat=cat)
        else:
            thread.call("cudaLaunchKernel", begin, begin + 3_000, number)
            start = begin + rand.randrange(-2_000, 100_000)
            name = rand.choice(["gemm", "ncclDevKernel_AllReduce"])
            rand.choice(streams).work(name, start, start + rand.randrange(0, length + 1), number)
        if rand.random() < 0.3:
            trace.flow(number, rand.choice(threads), begin, rand.choice(threads), begin + rand.randrange(0, 20_000) // rounded * rounded)
    if rand.random() < 0.3:
        rand.choice(threads).open_range("open", rand.randrange(0, 400_000))
    threads[0].range("step 1", 0, 400_000)
    holds_for_any(case, trace.write(case.folder / "any.json"), ["work", "gemm"])


SINGLE = [gpu_bound, cpu_bound, synchronized, autograd, future, two_streams, silent_streams, held]


def check(case):
    for simulated in SINGLE:
        def simulate(factors, simulated=simulated):
            return simulated(Program(case.seed, factors)).time

        program = Program(case.seed)
        end = simulated(program)
        path = program.trace.write(case.folder / f"{simulated.__name__}.json")
        compare(case, simulated.__name__, path, end, 0, simulate, program.travel)
        if simulated is held:
            idle = case.json("report", path)["devices"][0]["idle_ns"]
            case.equal("held: report and path agree", idle["queued, not started"], program.held)
    count = case.random.randrange(2, 4)

    def simulate_ranks(factors=None):
        programs = [Program(100 * case.seed + rank, factors, pid=10 + rank) for rank in range(count)]
        ends = ranks(programs)
        return programs, ends

    programs, ends = simulate_ranks()
    files = [program.trace.write(case.folder / f"rank{rank}.json") for rank, program in enumerate(programs)]
    case.run("merge", *files, "-o", case.folder / "all.kymo")
    longest = max(range(count), key=lambda rank: ends[rank][0].time - ends[rank][1])

    def length_of(factors):
        end, begin = simulate_ranks(factors)[1][longest]
        return end.time - begin

    compare(case, "ranks", case.folder / "all.kymo", *ends[longest],
            length_of if programs[0].knows_all_events else None)
    profiled(case)
    hanging(case)
    anything(case)
