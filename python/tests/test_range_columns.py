"""The arrays of kymo.open() have the same ranges as stats() and query(), with the same times."""
import asyncio
import collections
import csv
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import kymo
import numpy
import traces
from kymo import command, nvtx


def record_nested():
    for step in range(5):
        with nvtx.range("step {}", step), nvtx.range("load"):
            nvtx.push_range("request", domain="reader")
            nvtx.pop_range(domain="reader")


def record_across_threads():
    with nvtx.range("outer"):
        numbers = [nvtx.range_start("request") for _ in range(3)]
        thread = threading.Thread(target=lambda: [nvtx.range_end(number) for number in numbers])
        thread.start()
        thread.join()
        nvtx.end_range(nvtx.start_range("load", domain="reader"))


def record_tasks():
    @nvtx.range("coroutine")
    async def work(count):
        for _ in range(count):
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(asyncio.create_task(work(2), name="loader"), work(3))

    with kymo.trace_functions():
        asyncio.run(main())


def record_unfinished():
    nvtx.range_push("open")
    nvtx.range_push("open inside")
    nvtx.range_start("never ended")


def record_device():
    from kymo import mps
    x = mps.zeros(64)
    handle = nvtx._device_range_start("on the device")
    x.fill_(2)
    nvtx._device_range_end(handle)
    mps.synchronize()


def record_fills_of_one_submission():
    """Every fill is recorded with the times of all of them."""
    from kymo import mps
    x = mps.zeros(1 << 16)
    for _ in range(20):
        x.fill_(2)
    mps.synchronize()


def record_odd_names():
    with nvtx.range("a\0b"), nvtx.range("umläut {}", "x\0y"), nvtx.range("big {}", 10**30):
        nvtx.range_end(nvtx.range_start("c\0d"))


def record_ticks():
    """Work on a clock of 2.4 GHz: its ticks are not whole nanoseconds."""
    class Info(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("device_uuid", ctypes.c_char_p)] + \
                   [(field, ctypes.c_uint64) for field in ("context", "queue", "clock", "numerator", "denominator")] + \
                   [("wrap_bits", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("device_name", ctypes.c_char_p)]

    class Label(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("category", ctypes.c_char_p), ("name_length", ctypes.c_uint32),
                    ("category_length", ctypes.c_uint32), ("colour", ctypes.c_uint32)]

    library = ctypes.CDLL(os.path.join(os.environ["KYMO_BINARY_DIR"], "lib", "libkymo.so"))
    library.kymo_queue_open.restype = ctypes.c_void_p
    queue = ctypes.c_void_p(library.kymo_queue_open(ctypes.byref(Info(b"queue", b"gpu", 1, 1, 1, 5, 12, 0, 0, None))))
    number = ctypes.c_uint64
    library.kymo_queue_clock_pair(queue, number(0), number(10**9), number(1_700_000_000 * 10**9), number(1))
    for ticks in range(1, 25):
        name = f"{ticks} ticks".encode()
        label = Label(name, None, len(name), 0, 0)
        for start in range(100 * ticks * ticks, 100 * ticks * ticks + 12 * ticks, ticks):  # all fractions of a nanosecond
            library.kymo_queue_span(queue, ctypes.byref(label), None, 0, number(start), number(start + ticks), number(0))
    library.kymo_queue_close(queue)


PARTS = {"nested": record_nested, "across": record_across_threads, "tasks": record_tasks,
         "unfinished": record_unfinished, "odd": record_odd_names, "ticks": record_ticks,
         "device": record_device, "submission": record_fills_of_one_submission}
SETTINGS = {"submission": {"KYMO_DEVICE": "vulkan", "KYMO_VULKAN_TIMES": "submission"}}


def can_record(part):
    from kymo import mps
    if part == "submission":
        return any(name.startswith("vulkan") for name in mps.device_names())
    return part != "device" or mps.is_available()


def counts_by_name(rows, name="name", count="count"):
    counts = collections.Counter()
    for row in rows:
        counts[row[name]] += row[count]
    return counts


class RangeColumnsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = {part: os.path.join(cls.folder.name, f"{part}.kymo")
                      for part in PARTS if can_record(part)}
        for part, path in cls.traces.items():  # a process for each: what stays open belongs to one trace
            settings = {"KYMO_TRACE": path, **SETTINGS.get(part, {})}
            subprocess.run([sys.executable, __file__, part], check=True, env={**os.environ, **settings})
        cls.traces["foreign"] = os.path.join(cls.folder.name, "foreign.json")
        events = [{"ph": "X", "name": f"op {i}", "ts": i * 10.125, "dur": 2.0625, "pid": 1, "tid": 2} for i in range(30)]
        events += [{"ph": phase, "cat": "c", "id": i, "name": "asynchronous", "ts": i + 5 * (phase == "e"), "pid": 1, "tid": 2}
                   for i in range(4) for phase in "be"]
        with open(cls.traces["foreign"], "w") as file:
            json.dump(events, file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        for part, path in self.traces.items():
            with self.subTest(part), kymo.open(path) as trace:
                yield part, trace

    def test_every_name_has_as_many_ranges_as_in_stats(self):
        for part, trace in self.each():
            ranges, stats = trace.ranges, trace.stats()
            self.assertEqual(collections.Counter(ranges.name.tolist()), counts_by_name(stats))
            self.assertEqual(len(ranges), sum(row["count"] for row in stats))
            self.assertEqual(trace.counts["ranges"], len(ranges))
            for name in set(ranges.name):
                rows = [row for row in stats if row["name"] == name and not row["unfinished"]]
                self.assertEqual(len(trace.durations(name)), sum(row["count"] for row in rows), name)
                unfinished = [row for row in stats if row["name"] == name and row["unfinished"]]
                for row in stats:
                    lengths = {row[key] is None for key in ("min_ns", "median_ns", "p99_ns", "max_ns")}
                    self.assertEqual(lengths, {row["unfinished"]})
                self.assertEqual(int((~ranges.finished[ranges.name == name]).sum()),
                                 sum(row["count"] for row in unfinished), name)

    def test_all_columns_are_equally_long(self):
        for part, trace in self.each():
            ranges = trace.ranges
            lengths = {len(column) for column in (ranges.start_ns, ranges.duration_ns, ranges.name, ranges.name_id,
                                                  ranges.depth, ranges.track, ranges.across_threads, ranges.finished)}
            self.assertEqual(lengths, {len(ranges)})
            self.assertLess(ranges.track.max(), len(trace.tracks))
            self.assertTrue((ranges.duration_ns >= 0).all())
            self.assertEqual((ranges.across_threads.dtype, ranges.finished.dtype), (numpy.bool_, numpy.bool_))

    def test_times_are_those_of_query(self):
        if reason := traces.missing_duckdb():
            self.skipTest(reason)
        for part, trace in self.each():
            rows = trace.query("SELECT name, start_ns, duration_ns, finished, depth IS NULL AS across FROM ranges")
            ranges = trace.ranges
            self.assertEqual(sorted(map(tuple, (row.values() for row in rows))),
                             sorted(zip(ranges.name.tolist(), ranges.start_ns.tolist(), ranges.duration_ns.tolist(),
                                        ranges.finished.tolist(), ranges.across_threads.tolist())))

    def test_durations_are_those_of_the_columns(self):
        for part, trace in self.each():
            ranges = trace.ranges
            for name in set(ranges.name):
                wanted = ranges.duration_ns[(ranges.name == name) & ranges.finished]
                self.assertEqual(trace.durations(name).tolist(), wanted.tolist(), name)

    def test_durations_are_those_of_stats(self):
        for part, trace in self.each():
            rows = [row for row in trace.stats() if row["min_ns"] is not None]
            for name in {row["name"] for row in rows}:  # threads, devices and handles have rows of their own
                durations = trace.durations(name)
                self.assertEqual((min(row["min_ns"] for row in rows if row["name"] == name),
                                  max(row["max_ns"] for row in rows if row["name"] == name)),
                                 (durations.min(), durations.max()), name)

    def test_durations_are_rounded_once(self):
        trace = kymo.open(self.traces["ticks"])
        for ticks in range(1, 25):
            self.assertEqual(trace.durations(f"{ticks} ticks").tolist(), 12 * [math.floor(ticks * 5 / 12 + 0.5)])
        table = os.path.join(self.folder.name, "ticks.csv")
        command.run("export", self.traces["ticks"], "-o", table)
        with open(table, newline="") as file:
            exported = collections.Counter((row["name"], int(row["duration_ns"])) for row in csv.DictReader(file))
        self.assertEqual(exported, collections.Counter(zip(trace.ranges.name.tolist(), trace.ranges.duration_ns.tolist())))

    def test_a_frame_of_pandas_has_all_of_them(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed: scripts/install-deps test")
        for part, trace in self.each():
            frame = trace.to_pandas()
            self.assertEqual(frame["name"].value_counts().loc[lambda count: count > 0].to_dict(),
                             dict(counts_by_name(trace.stats())))
            self.assertEqual(frame.across_threads.tolist(), trace.ranges.across_threads.tolist())

    def test_ranges_across_threads(self):
        trace = kymo.open(self.traces["across"])
        ranges = trace.ranges
        across = ranges.name[ranges.across_threads]
        self.assertEqual(sorted(across), ["load", "request", "request", "request"])
        self.assertEqual(set(ranges.depth[ranges.across_threads]), {0})
        self.assertTrue(ranges.finished.all())

    def test_tasks_are_tracks(self):
        trace = kymo.open(self.traces["tasks"])
        tasks = {row["name"]: i for i, row in enumerate(trace.tracks) if row["kind"] == "task"}
        self.assertIn("loader", tasks)
        ranges = trace.ranges
        self.assertEqual(set(ranges.name[ranges.track == tasks["loader"]]), {"loader"})
        self.assertEqual(len(trace.durations("coroutine")), 2)

    def test_open_ranges_are_not_finished(self):
        trace = kymo.open(self.traces["unfinished"])
        ranges = trace.ranges
        self.assertEqual(dict(zip(ranges.name, zip(ranges.finished, ranges.across_threads, ranges.depth))),
                         {"open": (False, False, 0), "open inside": (False, False, 1), "never ended": (False, True, 0)})
        self.assertEqual(trace.durations("open").tolist(), [])

    def test_names_are_the_same_everywhere(self):
        trace = kymo.open(self.traces["odd"])
        wanted = {"a\ufffdb", "umläut {}", "big {}", "c\ufffdd"}
        self.assertEqual(set(trace.ranges.name), wanted)
        self.assertEqual({row["name"] for row in trace.stats()}, wanted)
        self.assertLessEqual(wanted, set(trace.names))
        for name in ("a\0b", "a\ufffdb"):
            self.assertEqual(len(trace.durations(name)), 1)

    def test_a_damaged_chunk_is_in_no_column(self):
        with open(self.traces["nested"], "rb") as file:
            content = bytearray(file.read())
        path = os.path.join(self.folder.name, "damaged.kymo")
        for position in range(150, len(content), max(1, len(content) // 40)):
            changed = bytearray(content)
            changed[position] ^= 0xFF
            with open(path, "wb") as file:
                file.write(changed)
            try:
                trace = kymo.open(path)
            except kymo.Error:
                continue
            with self.subTest(position):
                ranges = trace.ranges
                counts = counts_by_name(trace.stats())
                self.assertEqual(collections.Counter(ranges.name.tolist()), counts)
                self.assertEqual({name: len(trace.durations(name)) for name in counts}, counts)
                self.assertEqual(len({len(ranges.start_ns), len(ranges.depth), len(ranges.track), len(ranges.finished)}), 1)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in PARTS:
        PARTS[sys.argv[1]]()
    else:
        unittest.main()
