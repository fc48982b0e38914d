"""Ranges around functions whose body runs after the call: generators and coroutines."""
import asyncio
import functools
import inspect
import os
import tempfile
import unittest

import kymo
import numpy
from kymo import nvtx


class BodyTest(unittest.TestCase):
    def ranges_in(self, function):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "body.kymo")
            with kymo.Session(path):
                function()
            trace = kymo.open(path)
            ranges = trace.ranges
            return [(ranges.name[i], int(ranges.start_ns[i]), int(ranges.start_ns[i] + ranges.duration_ns[i]))
                    for i in numpy.argsort(ranges.start_ns, kind="stable")]

    def test_each_resume_of_a_generator_is_a_range(self):
        @nvtx.range("numbers")
        def numbers(count):
            for i in range(count):
                with nvtx.range("body"):
                    pass
                yield i
            return "end"

        def work():
            self.assertEqual(list(numbers(3)), [0, 1, 2])

        ranges = self.ranges_in(work)
        outer = [span for span in ranges if span[0] == "numbers"]
        bodies = [span for span in ranges if span[0] == "body"]
        self.assertEqual((len(outer), len(bodies)), (4, 3))
        for resume, body in zip(outer, bodies):
            self.assertLessEqual(resume[1], body[1])
            self.assertLessEqual(body[2], resume[2])

    def test_ranges_of_the_consumer_are_not_inside_the_generator(self):
        @nvtx.annotate("numbers")
        def numbers():
            yield 1
            yield 2

        def work():
            for _ in numbers():
                nvtx.range_push("consumer")
                nvtx.range_pop()

        ranges = self.ranges_in(work)
        for _, start, end in (span for span in ranges if span[0] == "consumer"):
            self.assertFalse([span for span in ranges if span[0] == "numbers" and span[1] < start and end < span[2]])

    def test_a_generator_behaves_as_before(self):
        events = []

        @nvtx.range("echo")
        def echo(first):
            try:
                value = first
                while True:
                    try:
                        value = yield value
                    except KeyError as error:
                        value = repr(error)
            finally:
                events.append("closed")

        self.assertTrue(inspect.isgeneratorfunction(echo))
        self.assertEqual(echo.__name__, "echo")
        generator = echo(1)
        self.assertEqual((next(generator), generator.send(5), generator.throw(KeyError("x"))), (1, 5, "KeyError('x')"))
        generator.close()
        self.assertEqual(events, ["closed"])

        @nvtx.range("ends")
        def ends():
            yield 1
            return 7

        def delegates():
            return (yield from ends())

        generator = delegates()
        next(generator)
        with self.assertRaises(StopIteration) as end:
            next(generator)
        self.assertEqual(end.exception.value, 7)

        @nvtx.range("fails")
        def fails():
            yield 1
            raise OSError("lost")

        with self.assertRaisesRegex(OSError, "lost"):
            list(fails())

    def test_each_item_of_an_asynchronous_generator_is_a_range(self):
        events = []

        @nvtx.annotate("items")
        async def items(count):
            try:
                for i in range(count):
                    await asyncio.sleep(0)
                    yield i
            finally:
                events.append("closed")

        self.assertTrue(inspect.isasyncgenfunction(items))

        async def all_items():
            self.assertEqual([item async for item in items(3)], [0, 1, 2])

        async def first_item():
            generator = items(3)
            self.assertEqual(await generator.asend(None), 0)
            with self.assertRaises(KeyError):
                await generator.athrow(KeyError("x"))

        async def closed_early():
            generator = items(3)
            await generator.__anext__()
            await generator.aclose()

        for body, count in ((all_items, 4), (first_item, 2), (closed_early, 2)):
            events.clear()
            ranges = self.ranges_in(lambda: asyncio.run(body()))
            self.assertEqual([span[0] for span in ranges], ["items"] * count)
            self.assertEqual(events, ["closed"])

    def test_an_asynchronous_generator_that_is_not_at_its_end_is_closed_by_the_loop(self):
        errors, events, kept = [], [], []

        @nvtx.annotate("items")
        async def items():
            try:
                yield 1
                yield 2
            finally:
                await asyncio.sleep(0)
                events.append("closed")

        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
            kept.append(items())
            self.assertEqual(await kept[0].__anext__(), 1)

        asyncio.run(main())
        self.assertEqual((events, errors), (["closed"], []))

    def test_a_coroutine_is_timed_to_its_end(self):
        class Callable:
            async def __call__(self):
                await asyncio.sleep(0)
                nvtx.range_end(nvtx.range_start("inside"))

        class Static:
            @nvtx.range("coroutine")
            @staticmethod
            async def work():
                await Callable()()

        async def plain():
            await Callable()()

        for function in (nvtx.range("coroutine")(plain), nvtx.range("coroutine")(functools.partial(plain)),
                         nvtx.range("coroutine")(Callable()), Static.work):
            self.assertTrue(inspect.iscoroutinefunction(function))
            ranges = {name: (start, end) for name, start, end in self.ranges_in(lambda: asyncio.run(function()))}
            self.assertLessEqual(ranges["coroutine"][0], ranges["inside"][0])
            self.assertLessEqual(ranges["inside"][1], ranges["coroutine"][1])


if __name__ == "__main__":
    unittest.main()
