"""What the threads of sampled programs did: real programs, which measure their own wall time, and read at their end
what the scheduler says of their time on a processor and in its queue.

The machine may be busy, so sums are compared, and not how long a thread had to wait for a processor.
"""

import functools
import json
import os
import pathlib
import subprocess
import tempfile
import time

from kit import BIN

MS = 1_000_000
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long compute_ms, sleep_ms;
static const char* kind;

static long long now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) void compute(void) {  /* CPU time, not wall time */
  long long end = now(CLOCK_THREAD_CPUTIME_ID) + compute_ms * 1000000LL;
  volatile double x = 1;
  while (now(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 1000; ++i) x = x * 1.0001;
}

__attribute__((noinline)) void rest(void) { usleep(sleep_ms * 1000); }

static void report(long long begin) {
  long long cpu = 0, ready = 0;
  sched_yield();  /* the kernel counts the time of a thread when that stops running */
  FILE* file = fopen("/proc/thread-self/schedstat", "r");
  if (!file || fscanf(file, "%lld %lld", &cpu, &ready) != 2) exit(3);
  fclose(file);
  printf("{\"tid\": %d, \"cpu\": %lld, \"ready\": %lld, \"wall\": %lld}\n", gettid(), cpu, ready,
         now(CLOCK_MONOTONIC) - begin);
  fflush(stdout);
}

static void* work(void* unused) {
  long long begin = now(CLOCK_MONOTONIC);
  if (!strcmp(kind, "lock")) pthread_mutex_lock(&lock);
  compute();
  rest();
  if (!strcmp(kind, "lock")) pthread_mutex_unlock(&lock);
  report(begin);
  return unused;
}

int main(int count, char** words) {
  long long begin = now(CLOCK_MONOTONIC);
  kind = words[1];
  int threads = atoi(words[2]);
  compute_ms = atol(words[3]), sleep_ms = atol(words[4]);
  if (threads == 0) {
    compute();
    rest();
  }
  pthread_t all[64];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], 0, work, 0);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], 0);
  /* longer than each thread, which may have to wait for a processor before it can look at the clock */
  printf("{\"tid\": 0, \"wall\": %lld}\n", now(CLOCK_MONOTONIC) - begin);
  report(begin);
  return count == 0;
}
"""


@functools.cache
def program():
    """The compiled program, or why the kernel cannot sample it here."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kymo-states-"))
    (folder / "states.c").write_text(PROGRAM)
    words = [os.environ.get("CC", "cc"), "-O1", "-g", "-pthread", "-o", folder / "states", folder / "states.c"]
    subprocess.run(words, check=True)
    tried = subprocess.run([BIN / "kymo", "record", "--sampler", "kernel", "-o", folder / "try.kymo", "--",
                            folder / "states", "alone", "0", "5", "0"], capture_output=True, text=True)
    return folder / "states", tried.stderr if tried.returncode != 0 else ""


def stolen_ns():
    """What other machines of the host took from this one. A thread is on a processor then, but uses no CPU time."""
    words = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()
    return int(words[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def check(case):
    if case.seed >= 6:  # each takes about a second
        return
    path, refused = program()
    if refused:
        print(f"seed {case.seed}: not checked, because the kernel does not sample here: {refused.strip()}")
        case.checked += 1
        return
    kind = ["alone", "lock", "crowd"][case.seed % 3]
    threads = {"alone": 0, "lock": 2, "crowd": 3 * len(os.sched_getaffinity(0))}[kind]
    compute = case.random.randrange(20, 60)
    sleep = 0 if kind == "crowd" else 300
    with_stacks = case.random.random() < 0.5
    trace = case.folder / f"{kind}.kymo"
    words = [BIN / "kymo", "record", "--sampler", "kernel", *(["--sample-waits"] if with_stacks else []), "-o", trace,
             "--", path, kind, threads, compute, sleep]
    before, began = stolen_ns(), time.monotonic_ns()
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100)
    stolen, whole = stolen_ns() - before, time.monotonic_ns() - began
    stolen += 10 * MS if stolen else 0  # it is counted in ticks
    truth = {one["tid"]: one for one in map(json.loads, done.stdout.splitlines())}
    longest_life = truth.pop(0)["wall"]
    case.equal("threads that reported", len(truth), threads + 1)

    stats = case.json("stats", trace, "--by", "thread")
    rows = {row["tid"]: row for row in stats["rows"]}
    timeline = case.json("timeline", trace)
    without_wake_ups = case.json("path", trace)["missing_wake_ups"]
    near(case, "running time of the timeline", sum(row["busy_ns"] for row in timeline["rows"]),
         sum(row["running_ns"] for row in rows.values()), 0.02, 5 * MS)
    functions, used = case.json("stats", trace, "--by", "function"), sum(one["cpu"] for one in truth.values())
    case.true(f"the total has all CPU time: {functions['cpu_ns']} and {functions['unknown_ns']}, right is {used}",
              functions["cpu_ns"] + functions["unknown_ns"] >= 0.97 * used - 5 * MS)
    if stats["losses"]:
        # The machine was too busy to record all. What is known is true then, and the rest is unknown.
        for tid, row in rows.items():
            states = [row[name] for name in ("running_ns", "waiting_ns", "preempted_ns", "unknown_ns")]
            case.equal(f"all states of {tid}", sum(states), row["life_ns"])
            case.at_most(f"CPU time of {tid}", row["running_ns"], truth[tid]["cpu"] * 1.02 + 5 * MS + stolen)
        return
    case.equal("threads", sorted(rows), sorted(truth))
    for tid, row in rows.items():
        right = truth[tid]
        states = [row[name] for name in ("running_ns", "waiting_ns", "preempted_ns", "unknown_ns")]
        case.equal(f"all states of {tid}", sum(states), row["life_ns"])
        # A thread cannot measure its own start and end.
        case.at_most(f"least life of {tid}", right["wall"] * 0.99 - MS, row["life_ns"])
        case.at_most(f"life of {tid}", row["life_ns"], whole if tid == min(truth) else longest_life * 1.01 + MS)
        # Of the time of the thread, of which it does not see the end.
        limit = right["wall"] // 100 + MS
        near(case, f"CPU time of {tid}", row["running_ns"], right["cpu"], 0.02, min(limit, 5 * MS) + stolen)
        case.at_most(f"time of {tid} in the queue", row["preempted_ns"], right["ready"] + limit + stolen)
        # If wake-ups are not recorded, a thread that is woken waits until it runs.
        near(case, f"time of {tid} in the queue", row["preempted_ns"], right["ready"], 0,
             limit + stolen + (row["waiting_ns"] if without_wake_ups else 0))
        near(case, f"unknown time of {tid}", row["unknown_ns"], 0, 0, right["wall"] // 100)
        own_sleep = sleep * MS if threads == 0 or tid != min(truth) else 0
        case.true(f"{tid} waits for {row['waiting_ns']}, and it sleeps for {own_sleep}", row["waiting_ns"] >= own_sleep)
    if kind == "lock":  # one of them waits while the other one has the lock
        longest = max(row["waiting_ns"] for tid, row in rows.items() if tid != min(truth))
        case.true(f"the second one waits for the lock: {longest}", longest >= 2 * sleep * MS)

    page = case.json("report", trace)
    case.equal("the parts", sum(part["ns"] for part in page["parts"]), page["window_ns"])
    case.equal("threads of the report", {one["tid"]: one["running_ns"] for one in page["threads"]},
               {tid: row["running_ns"] for tid, row in rows.items()})
    for finding in page["findings"]:
        case.at_most(f"saving of {finding['kind']}", finding["saves_ns"], page["window_ns"])
    kinds = {finding["kind"]: finding for finding in page["findings"]}
    case.true(f"nothing is outside of ranges: {list(kinds)}", "outside of ranges" not in kinds)
    if kind != "crowd":
        sleeps = sleep * max(threads, 1) * MS  # nobody computes while one sleeps
        waiting = kinds.get("waiting", {"ns": 0, "text": "", "evidence": [], "record": ""})
        case.true(f"all wait for {waiting['ns']}, of {sleeps}", sleeps * 0.99 <= waiting["ns"])
        case.at_most("time in which all wait", waiting["ns"], page["window_ns"] - compute * max(threads, 1) * MS)
        # Without the option, the kernel may refuse to decide which waits have a stack.
        is_advised = not with_stacks and "--sample-waits" in waiting["record"]
        case.true(f"the function that waits: {waiting['evidence']}",
                  is_advised or any("in rest" in row for row in waiting["evidence"]))
    else:
        case.true(f"too many threads: {list(kinds)}", "ready" in kinds)

    case.equal("rows of the timeline", len(timeline["rows"]), threads + 1)


def near(case, what, got, right, share, ns):
    case.true(f"{what}: kymo says {got}, right is {right}", abs(got - right) <= max(share * right, ns))
