#!/usr/bin/env python3
"""Programs with one planted cause each: the first finding of `kymo report` names it, from `kymo record` with its defaults.

On a busy machine, threads are ready and do not run for some of the time. The report says so, and that is true, so such a
finding may come before the planted one.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from recorded_programs import BIN, start

PROGRAM = r"""
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define FUNCTION __attribute__((noinline))

static volatile double x = 1;
static double cpu_ms() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}
// The compiler must not give two of them one body.
#define COMPUTE(ms) for (double end = cpu_ms() + (ms); cpu_ms() < end;) for (int i = 0; i < 5000; ++i) x = x * 1.0001
#define REST(ms) std::this_thread::sleep_for(std::chrono::milliseconds(ms))

// ---- A slow lock: each thread computes for 1 ms, and then writes for 8 ms while no other one can.

static std::mutex log_mutex;
FUNCTION void compute_order() { COMPUTE(1); }
FUNCTION void write_line() { REST(8); x = 2; }
FUNCTION void log_result() {
  const std::lock_guard lock(log_mutex);
  write_line();
  x = 3;
}
static void slow_lock() {
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i)
    workers.emplace_back([] {
      for (int order = 0; order < 25; ++order) compute_order(), log_result();
    });
  for (std::thread& one : workers) one.join();
}

// ---- A sleep at the start.

FUNCTION void connect_to_server() { REST(900); x = 4; }
FUNCTION void serve() { COMPUTE(90); x = 5; }

// ---- A few slow iterations.

FUNCTION void step() { COMPUTE(3); x = 6; }
FUNCTION void compact() { COMPUTE(45); x = 7; }
static void hiccup() {
  for (int i = 0; i < 120; ++i) {
    step();
    if (i % 20 == 19) compact();
  }
}

// ---- A producer and a consumer, with a queue of four places. One of them is slower.

static std::mutex queue_mutex;
static std::condition_variable changed;
static std::deque<int> queue;
FUNCTION void give(int item) {
  std::unique_lock lock(queue_mutex);
  changed.wait(lock, [] { return queue.size() < 4; });
  queue.push_back(item);
  changed.notify_all();
}
FUNCTION int take() {
  std::unique_lock lock(queue_mutex);
  changed.wait(lock, [] { return !queue.empty(); });
  const int item = queue.front();
  queue.pop_front();
  changed.notify_all();
  return item;
}
FUNCTION void read_block(bool is_slow) {
  if (is_slow) REST(8);
  COMPUTE(1);
}
FUNCTION void encode_block(bool is_slow) { COMPUTE(is_slow ? 9 : 1); x = 8; }
static void pipeline(bool is_producer_slow) {
  std::thread producer([=] {
    for (int i = 1; i <= 80; ++i) read_block(is_producer_slow), give(i);
    give(0);
  });
  while (take() != 0) encode_block(!is_producer_slow);
  producer.join();
}

// ---- More busy threads than processors.

FUNCTION void spin() { COMPUTE(90); x = 9; }
static void crowd(int threads) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(spin);
  for (std::thread& one : all) one.join();
}

// ---- Memory: three of four sessions are not freed. The configuration is, and each page.

FUNCTION char* open_session() { return new char[16 << 10]; }
FUNCTION void load_configuration() { std::vector<std::vector<char>>(200, std::vector<char>(10 << 10)); }
static void leak() {
  load_configuration();
  for (int i = 0; i < 400; ++i) {
    char* const session = open_session();
    const std::string page(100 << 10, 'x');
    REST(1);
    if (i % 4 == 0) delete[] session;
  }
}

int main(int, char** words) {
  const std::string what = words[1];
  if (what == "lock") slow_lock();
  if (what == "sleep") connect_to_server(), serve();
  if (what == "hiccup") hiccup();
  if (what == "producer" || what == "consumer") pipeline(what == "producer");
  if (what == "leak") leak();
  if (what == "crowd") crowd(std::atoi(words[2]));
}
"""

PYTHON = r"""
import os, queue, sys, threading, time

def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

def step():
    compute(0.003)

def compact():
    compute(0.045)

def spin():
    compute(0.2)

def connect_to_server():
    time.sleep(0.9)

def serve():
    compute(0.05)

# Python's functions of a wait are read while it lasts, some 20 times a second: these are long.
log_lock = threading.Lock()

def write_line():
    time.sleep(0.2)

def log_result():
    with log_lock:
        write_line()

def work():
    for _ in range(3):
        compute(0.005)
        log_result()

def read_block():
    time.sleep(0.2)

def produce(blocks):
    for i in range(6):
        read_block()
        blocks.put(i)
    blocks.put(None)

def consume(blocks):
    while blocks.get() is not None:
        compute(0.005)

if sys.argv[1] == "sleep":
    connect_to_server()
    serve()
if sys.argv[1] == "lock":
    workers = [threading.Thread(target=work) for _ in range(3)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
if sys.argv[1] == "producer":
    blocks = queue.Queue(4)
    producer = threading.Thread(target=produce, args=[blocks])
    producer.start()
    consume(blocks)
    producer.join()

if sys.argv[1] == "hiccup":
    for i in range(120):
        step()
        if i % 20 == 19:
            compact()
if sys.argv[1] == "crowd":
    for _ in range(int(sys.argv[2])):
        if os.fork() == 0:
            spin()
            os._exit(0)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
"""


class SlowProgramsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kymo-slow-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "slow.cc").write_text(PROGRAM)
        (cls.folder / "slow.py").write_text(PYTHON)
        words = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-g", "-pthread", "-o", "slow", "slow.cc"]
        cls.run_words(*words)

    @classmethod
    def run_words(cls, *words):
        process = start(words, cls.folder)
        out, err = process.communicate(timeout=600)
        if process.returncode != 0:
            raise AssertionError(f"{words}: {err}")
        return out, err

    def first_finding(self, *words, is_ready=False):
        """Of a recorded program. The text of the page has it too."""
        _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", *words)
        if "no CPU samples" in err or "timers inside" in err:
            self.skipTest(err.strip())
        self.page = json.loads(self.run_words(BIN / "kymo", "report", "run.kymo", "--json")[0])
        info = self.run_words(BIN / "kymo", "info", "run.kymo")[0]
        if "some waits" not in info:
            self.skipTest("the kernel permits no stacks of waits: " + err.strip())
        if "wake-ups" in info and re.search(r"wake-ups.*not ", info):
            self.skipTest("the kernel permits no wake-ups: " + err.strip())
        findings = [one for one in self.page["findings"] if is_ready or one["kind"] != "ready"]
        self.assertTrue(findings, self.page["findings"])
        text = " ".join(self.run_words(BIN / "kymo", "report", "run.kymo")[0].split())
        self.assertIn(" ".join(findings[0]["text"].split())[:80], text)
        self.assertGreater(findings[0]["ns"], 0)
        self.assertLessEqual(findings[0]["saves_ns"], self.page["window_ns"])
        self.check_unknown_time()
        return findings[0]

    def check_unknown_time(self):
        """What is unknown is unknown everywhere."""
        stats = json.loads(self.run_words(BIN / "kymo", "stats", "run.kymo", "--by", "thread", "--json")[0])["rows"]
        timeline = json.loads(self.run_words(BIN / "kymo", "timeline", "run.kymo", "--json")[0])
        length, rows = timeline["to_ns"] - timeline["from_ns"], timeline["rows"]
        for columns, state in (
            ("busy_of_columns", "running_ns"),
            ("ready_of_columns", "preempted_ns"),
            ("unknown_of_columns", "unknown_ns"),
        ):
            drawn = sum(sum(row[columns]) * length / timeline["columns"] for row in rows)
            right = sum(row[state] for row in stats)
            self.assertLessEqual(abs(drawn - right), 0.02 * right + 3_000_000 * len(rows), state)

    def assert_says(self, finding, kind, *patterns):
        self.assertEqual(finding["kind"], kind, self.page["findings"])
        for pattern in patterns:
            self.assertRegex(finding["text"], pattern)

    def path(self):
        """Its time by thread, and by thread and what it did."""
        page = json.loads(self.run_words(BIN / "kymo", "path", "run.kymo", "--json")[0])
        self.assertEqual(sum(row["ns"] for row in page["rows"]), page["length_ns"])
        return page

    def test_slow_lock_is_named_with_its_holder(self):
        for program, lock in ((["./slow"], "mutex"), ([sys.executable, "slow.py"], "lock of Python")):
            with self.subTest(program=program):
                first = self.first_finding(*program, "lock")
                self.assert_says(first, "lock", rf"waiting for a {lock}, in log_result", r"thread \d+ .*held in write_line")

    def test_sleep_at_the_start_is_named(self):
        for program in (["./slow"], [sys.executable, "slow.py"]):
            with self.subTest(program=program):
                first = self.first_finding(*program, "sleep")
                self.assert_says(first, "waiting", r"in connect_to_server, where it sleeps")

    def test_few_slow_iterations_are_named(self):
        for program in (["./slow"], [sys.executable, "slow.py"]):
            with self.subTest(program=program):
                first = self.first_finding(*program, "hiccup")
                self.assert_says(first, "bursts", r"\bcompact runs \d+ times, for .* each time")

    def test_slower_producer_is_named_and_on_the_path(self):
        for program, takes in ((["./slow"], "take"), ([sys.executable, "slow.py"], "consume")):
            with self.subTest(program=program):
                first = self.first_finding(*program, "producer")
                self.assert_says(first, "slower side", rf"in {takes}, waits for thread \d+",
                                 r"slower side is thread \d+, mostly in read_block, where it sleeps")
                producer = re.search(r"slower side is thread (\d+)", first["text"])[1]
                path = self.path()
                on_path = sum(row["ns"] for row in path["rows"] if producer in row["where"])
                self.assertGreater(on_path, path["length_ns"] / 2, path["rows"])

    def test_slower_consumer_is_named_and_on_the_path(self):
        first = self.first_finding("./slow", "consumer")
        self.assert_says(first, "slower side", r"in give, waits for", r"slower side is .*, mostly in encode_block$")
        consumer = re.search(r"slower side is (?:thread )?(.*), mostly", first["text"])[1]
        path = self.path()
        on_path = sum(row["ns"] for row in path["rows"] if consumer in row["where"])
        self.assertGreater(on_path, path["length_ns"] / 2, (consumer, path["rows"]))

    def test_memory_that_grows_is_named_with_the_function_that_allocates_it(self):
        self.run_words(BIN / "kymo", "record", "--memory", "-o", "memory.kymo", "--", "./slow", "leak")
        first = json.loads(self.run_words(BIN / "kymo", "report", "memory.kymo", "--json")[0])["findings"][0]
        self.assertEqual(first["kind"], "growing memory", first)
        self.assertRegex(first["text"], r"^Memory grows until the end, to .*: (99\.\d|100\.0) % of it was allocated in open_session")
        self.assertRegex(first["evidence"][0], r"in open_session .*: 300 of 400 allocations were not freed")
        text = self.run_words(BIN / "kymo", "report", "memory.kymo")[0]
        self.assertRegex(text, r"4\.9 MB allocated in open_session")
        for how in ("sleep", "hiccup"):
            self.run_words(BIN / "kymo", "record", "--memory", "-o", "memory.kymo", "--", "./slow", how)
            page = json.loads(self.run_words(BIN / "kymo", "report", "memory.kymo", "--json")[0])
            self.assertNotIn("growing memory", [one["kind"] for one in page["findings"]])

    def test_too_many_busy_threads_are_counted(self):
        processors = len(os.sched_getaffinity(0))
        for program in (["./slow"], [sys.executable, "slow.py"]):
            with self.subTest(program=program):
                count = min(256, 4 * processors)
                first = self.first_finding(*program, "crowd", count, is_ready=True)
                self.assert_says(first, "ready", rf"^\d+ busy threads on {processors} processors")


if __name__ == "__main__":
    unittest.main(verbosity=1)
