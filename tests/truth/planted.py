"""Five programs with one planted cause each: the first finding of `kymo report` names it, or says what to record.

On a busy machine, threads are ready and do not run for most of the time. The report says so, and that is true, so such a
finding may come before the planted one.
"""

import functools
import os
import pathlib
import subprocess
import tempfile

from kit import BIN

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, is_done;
static volatile double x = 1;

static double cpu_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}
#define COMPUTE(ms) for (double end = cpu_ms() + (ms); cpu_ms() < end;) for (int i = 0; i < 20000; ++i) x = x * 1.0001
#define FUNCTION __attribute__((noinline))

FUNCTION void usual_work(double ms) { COMPUTE(ms); }
FUNCTION void collect_garbage(void) { COMPUTE(100); }
FUNCTION void produce(void) { COMPUTE(15); }
FUNCTION void consume(void) { COMPUTE(1); }
FUNCTION void spin(void) { COMPUTE(60); }
FUNCTION void load_config(void) { usleep(600000); }

FUNCTION void save_under_lock(void) {
  pthread_mutex_lock(&lock);
  usleep(40000);
  pthread_mutex_unlock(&lock);
}
FUNCTION void count_under_lock(void) {
  pthread_mutex_lock(&lock);
  ++items;
  pthread_mutex_unlock(&lock);
  usual_work(1);
}
static void* saver(void* unused) {
  for (int i = 0; i < 15; ++i) save_under_lock();
  return unused;
}
static void* counter(void* unused) {
  for (int i = 0; i < 8; ++i) count_under_lock();
  return unused;
}

FUNCTION int take_item(void) {
  pthread_mutex_lock(&lock);
  while (items == 0 && !is_done) pthread_cond_wait(&filled, &lock);
  int taken = items > 0 ? items-- : 0;
  pthread_mutex_unlock(&lock);
  return taken;
}
static void give(int count, int done) {
  pthread_mutex_lock(&lock);
  items += count;
  is_done = done;
  pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&lock);
}
static void* producer(void* unused) {
  for (int i = 0; i < 25; ++i) produce(), give(1, 0);
  give(0, 1);
  return unused;
}
static void* consumer(void* unused) {
  while (take_item()) consume();
  return unused;
}
static void* spinner(void* unused) { spin(); return unused; }

int main(int count, char** words) {
  pthread_t all[256];
  int threads = 0;
#define START(function) pthread_create(&all[threads++], 0, function, 0)
  if (!strcmp(words[1], "lock")) START(saver), START(counter), START(counter);
  if (!strcmp(words[1], "sleep")) load_config(), usual_work(60);
  if (!strcmp(words[1], "hiccup"))
    for (int i = 0; i < 60; ++i) {
      usual_work(2);
      if (i % 20 == 10) collect_garbage();
    }
  if (!strcmp(words[1], "queue")) START(producer), consumer(0);
  if (!strcmp(words[1], "crowd"))
    while (threads < atoi(words[2])) START(spinner);
  while (threads > 0) pthread_join(all[--threads], 0);
  return count == 0;
}
"""

# The kind of the finding, and what its text or its rows say.
CAUSES = {
    "lock": ("waiting", "save_under_lock"),
    "sleep": ("waiting", "load_config"),
    "hiccup": ("function", "collect_garbage"),
    "queue": ("function", "produce"),
    "crowd": ("ready", "want to run at the same time"),
}


@functools.cache
def program():
    """The compiled program, or why the kernel cannot sample it here."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kymo-planted-"))
    (folder / "planted.c").write_text(PROGRAM)
    words = [os.environ.get("CC", "cc"), "-O1", "-g", "-pthread", "-o", folder / "planted", folder / "planted.c"]
    subprocess.run(words, check=True)
    tried = record(folder / "try.kymo", folder / "planted", "nothing")
    return folder / "planted", tried.stderr if tried.returncode != 0 else ""


def record(trace, *words):
    words = [BIN / "kymo", "record", "--sampler", "kernel", "-o", trace, "--", *words]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100)


def check(case):
    if case.seed >= len(CAUSES):  # each takes about a second
        return
    path, refused = program()
    if refused:
        print(f"seed {case.seed}: not checked, because the kernel does not sample here: {refused.strip()}")
        case.checked += 1
        return
    planted = list(CAUSES)[case.seed]
    kind, says = CAUSES[planted]
    trace = case.folder / f"{planted}.kymo"
    record(trace, path, planted, min(256, 4 * len(os.sched_getaffinity(0))))
    page = case.json("report", trace)
    found = [one for one in page["findings"] if one["kind"] != "ready" or kind == "ready"]
    case.true(f"{planted}: there is a finding", bool(found))
    first = found[0] if found else {"kind": "", "text": "", "evidence": [], "record": ""}
    names_it = first["kind"] == kind and any(says in text for text in [first["text"], *first["evidence"]])
    # Without the right to choose waits, or with lost records, the report says what to record.
    case.true(f"{planted}: the first finding names {says}: {first}", names_it or first["record"] != "")

    # The path goes on in the thread for which another one waits.
    path = case.json("path", trace)
    case.equal(f"{planted}: the parts of the path", sum(row["ns"] for row in path["rows"]), path["length_ns"])
    if planted == "queue" and not path["missing_wake_ups"]:
        makes = [one for one in case.json("stats", trace, "--by", "function")["functions"] if one["function"] == "produce"]
        on_path = {}
        for row in path["rows"]:
            on_path[row["where"], row["what"]] = row["ns"]
        busiest = max(on_path, key=on_path.get)
        case.true(f"queue: the path is in the producer, which runs: {on_path}",
                  busiest[1] in ("(running)", "(ready, but others ran)") and
                  on_path[busiest] >= makes[0]["self_ns"] / 2)

    # What is unknown is unknown everywhere.
    stats, timeline = case.json("stats", trace, "--by", "thread")["rows"], case.json("timeline", trace)
    length, rows = timeline["to_ns"] - timeline["from_ns"], timeline["rows"]
    for columns, state in (("busy_of_columns", "running_ns"), ("unknown_of_columns", "unknown_ns")):
        drawn = sum(sum(row[columns]) * length / timeline["columns"] for row in rows)
        right = sum(row[state] for row in stats)
        case.true(f"{planted}: {state} of the timeline: {drawn}, right is {right}",
                  abs(drawn - right) <= 0.02 * right + 3_000_000 * len(rows))
