"""A million iterations of each function, with flat memory and the same reference counts."""
import gc
import resource
import sys
import unittest

import kymo
from kymo import nvtx
from traces import recorded

ITERATIONS = 1_000_000
# What the allocator may keep. A leak of one object for each iteration is more than 16 MB.
ALLOWED_KB = 4096


def resident_kb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


class LeakTest(unittest.TestCase):
    def check(self, body):
        body(ITERATIONS // 10)  # the allocator and the caches are warm
        gc.collect()
        before = resident_kb()
        body(ITERATIONS)
        gc.collect()
        self.assertLess(resident_kb() - before, ALLOWED_KB)

    def test_push_and_pop(self):
        def body(count):
            for _ in range(count):
                nvtx.range_push("step")
                nvtx.range_pop()
        self.check(body)

    def test_ranges_with_arguments(self):
        kept = ["text", 10**30, object(), 2.5]
        counts = [sys.getrefcount(one) for one in kept]

        def body(count):
            for i in range(count):
                with nvtx.range("x {} {} {} {name}", i, kept[0], kept[1], name=kept[2]):
                    pass
        self.check(body)
        self.assertEqual([sys.getrefcount(one) for one in kept], counts)

    def test_ranges_with_more_arguments_than_fit(self):
        value = object()
        before = sys.getrefcount(value)

        def body(count):
            for i in range(count // 4):
                with nvtx.range("x", i, 2, value, 4, 5, 6):
                    pass
        self.check(body)
        self.assertEqual(sys.getrefcount(value), before)

    def test_recorded_ranges(self):
        value = object()
        before = sys.getrefcount(value)

        def body(count):
            for i in range(count // 4):
                with nvtx.range("x {} {}", i, value):
                    pass
        with recorded():
            self.check(body)
        self.assertEqual(sys.getrefcount(value), before)

    def test_errors(self):
        def body(count):
            for _ in range(count // 10):
                try:
                    nvtx.range(1)
                except TypeError:
                    pass
                try:
                    nvtx.range_push("a", 2)
                except TypeError:
                    pass
        self.check(body)

    def test_annotations_and_started_ranges(self):
        def body(count):
            for i in range(count // 10):
                with nvtx.annotate("load", domain="d", payload=i):
                    pass
                nvtx.range_end(nvtx.range_start("x"))
                nvtx.mark("m")
                kymo.counter("c", i)
        self.check(body)

    def test_cycles_are_collected(self):
        class Holder:
            pass

        gc.collect()
        for _ in range(1000):
            holder = Holder()
            holder.range = nvtx.range("{} {}", holder, 2)
        del holder
        gc.collect()
        self.assertFalse([one for one in gc.get_objects() if isinstance(one, Holder)])


if __name__ == "__main__":
    unittest.main()
