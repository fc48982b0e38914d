"""kymo.nvtx: the functions of torch.cuda.nvtx and of PyPI's nvtx, and what they leave in a trace."""
import asyncio
import pickle
import sys
import threading
import types
import unittest

import kymo
from kymo import nvtx
from traces import recorded


class TorchFunctionsTest(unittest.TestCase):
    def test_depths_are_those_of_torch(self):
        self.assertEqual([nvtx.range_push("a"), nvtx.range_push(msg="b")], [0, 1])
        self.assertEqual([nvtx.range_pop(), nvtx.range_pop(), nvtx.range_pop()], [1, 0, -1])

    def test_a_range_counts_in_the_depth(self):
        with nvtx.range("outer"):
            self.assertEqual(nvtx.range_push("inner"), 1)
            nvtx.range_pop()

    def test_pushed_ranges_nest_in_the_trace(self):
        with recorded() as trace:
            nvtx.range_push("outer")
            nvtx.range_push("ünnër")
            nvtx.range_pop()
            nvtx.range_pop()
        outer, inner = trace().ranges()
        self.assertEqual([outer["name"], inner["name"]], ["outer", "ünnër"])
        self.assertLessEqual(outer["ts"], inner["ts"])
        self.assertGreaterEqual(outer["dur"], inner["dur"])

    def test_a_started_range_ends_on_another_thread(self):
        with recorded() as trace:
            number = nvtx.range_start("request")
            thread = threading.Thread(target=nvtx.range_end, args=(number,))
            thread.start()
            thread.join()
        self.assertEqual(trace().async_names(), ["request"])
        self.assertNotEqual(number, nvtx.range_start("another"))

    def test_marks(self):
        with recorded() as trace:
            nvtx.mark("one")
            nvtx.mark(msg="two")
            nvtx.mark("three", color="red", payload=3)
        self.assertEqual(trace().marks(), ["one", "two", "three"])

    def test_an_unknown_number_is_not_an_error(self):
        with recorded():
            nvtx.range_end(12345678901)


class FormatTest(unittest.TestCase):
    def names(self, *ranges):
        with recorded() as trace:
            for message, args, keywords in ranges:
                with nvtx.range(message, *args, **keywords):
                    pass
        return trace().names()

    def test_texts_are_those_of_str_format(self):
        class Point:
            x = 3

            def __str__(self):
                return "(3)"

        cases = [
            ("step {}", (7,), {}), ("{1} of {0}", (10, 2), {}), ("{rows} rows", (), {"rows": 5}), ("{:.3f}", (2.5,), {}),
            ("{:>8}|", ("ab",), {}), ("{} {}", ("text", -1), {}), ("{}", (True,), {}), ("{}", (None,), {}),
            ("{}", ([1, 2],), {}), ("{!r}", ("a",), {}), ("{0.x}", (Point(),), {}), ("{}", (Point(),), {}),
            ("{0[1]}", ([4, 5],), {}), ("{:{}}|", ("a", 4), {}), ("{}", (2**63,), {}), ("{}", (-2**63,), {}),
            ("{}", (2**70,), {}), ("{:,}", (1234567,), {}), ("{a}{b}{c}{d}{e}", (), dict(a=1, b=2, c=3, d=4, e=5)),
            ("{}", (0.1 + 0.2,), {}), ("{}", (1e22,), {}), ("{}", (float("nan"),), {}),
            ("{}", (1e-7,), {}), ("{:d}", (True,), {}), ("{:>6}|", (1.5,), {}), ("{:x}", (255,), {}), ("{{}} {}", (1,), {}),
            ("{} {} {} {} {} {}", (1, 2, 3, 4, 5, 6), {}),
        ]
        expected = [message.format(*args, **keywords) for message, args, keywords in cases]
        self.assertEqual(self.names(*cases), expected)

    def test_a_float_without_a_fraction_is_shown_as_a_number(self):
        self.assertEqual(self.names(("{}", (1.0,), {}), ("{:.1f}", (1.0,), {})), ["1", "1.0"])

    def test_a_message_without_arguments_is_not_a_format(self):
        self.assertEqual(self.names(("{x} {{}}", (), {}), ("{", (), {})), ["{x} {{}}", "{"])

    def test_a_message_that_does_not_fit_does_not_end_the_program(self):
        class Bad:
            def __str__(self):
                raise ValueError("no")

        self.assertEqual(self.names(("{} {}", (1,), {}), ("{0.y}", (1,), {}), ("{}", (Bad(),), {})),
                         ["1 {}", "{0.y}", "{}"])

    def test_a_keyboard_interrupt_in_a_text_is_raised(self):
        class Interrupt:
            def __str__(self):
                raise KeyboardInterrupt

        with recorded(), self.assertRaises(KeyboardInterrupt):
            with nvtx.range("{}", Interrupt()):
                pass

    def test_arguments_are_not_formatted_while_nothing_records(self):
        class Never:
            def __str__(self):
                raise AssertionError("formatted")

            __format__ = __repr__ = __str__

        with nvtx.range("{} {x}", Never(), x=Never()):
            pass

    def test_a_range_that_was_made_before_the_recording_is_complete(self):
        prepared = nvtx.range("step {}", 3)
        with recorded() as trace:
            with prepared:
                pass
        self.assertEqual(trace().names(), ["step 3"])


class ScopeTest(unittest.TestCase):
    def test_an_exception_ends_the_range_and_goes_on(self):
        with recorded() as trace:
            with self.assertRaises(ZeroDivisionError):
                with nvtx.range("outer"), nvtx.range("inner"):
                    1 / 0
            self.assertEqual(nvtx.range_pop(), -1)
        self.assertEqual(trace().names(), ["outer", "inner"])

    def test_a_function_with_a_range(self):
        @nvtx.range("double {}", 1)
        def double(x):
            "Doubles."
            return 2 * x

        with recorded() as trace:
            self.assertEqual(double(4) + double(x=5), 18)
        self.assertEqual(trace().names(), ["double 1"] * 2)
        self.assertEqual((double.__name__, double.__doc__), ("double", "Doubles."))

    def test_coroutines_overlap(self):
        @nvtx.range("task")
        async def task():
            await asyncio.sleep(0)

        async def both():
            await asyncio.gather(task(), task())

        with recorded() as trace:
            asyncio.run(both())
        self.assertEqual(trace().async_names(), ["task"] * 2)

    def test_ranges_of_threads_are_on_their_tracks(self):
        def work():
            for i in range(1000):
                with nvtx.range("work {}", i):
                    pass

        with recorded() as trace:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        ranges = trace().ranges()
        self.assertEqual(len(ranges), 4000)
        self.assertEqual(len({event["tid"] for event in ranges}), 4)


class WrongArgumentsTest(unittest.TestCase):
    def test_wrong_types_are_type_errors(self):
        for call, text in [
            (lambda: nvtx.range_push(1), "range_push: msg must be str, not int"),
            (lambda: nvtx.range_push(b"x"), "range_push: msg must be str, not bytes"),
            (lambda: nvtx.range_push(), "takes one argument, msg, but 0 were given"),
            (lambda: nvtx.range_push("a", "b"), "but 2 were given"),
            (lambda: nvtx.range_push(name="a"), "no argument 'name'"),
            (lambda: nvtx.range_pop(1), "takes no arguments"),
            (lambda: nvtx.range_start(None), "range_start: msg must be str, not NoneType"),
            (lambda: nvtx.range_end("a"), "range_end: range_id must be int, not str"),
            (lambda: nvtx.range_end(1.5), "range_end: range_id must be int, not float"),
            (lambda: nvtx.mark(3), "mark: msg must be str, not int"),
            (lambda: nvtx.range(3), "range: msg must be str, not int"),
            (lambda: nvtx.range(), "range\\(\\) needs a message"),
            (lambda: nvtx.range(text="x"), "range\\(\\) needs a message"),
            (lambda: nvtx.range("x")(3), "can decorate a function, not int"),
            (lambda: nvtx.range("x")(), "called with one function"),
            (lambda: nvtx.annotate(3), "message must be str, not int"),
            (lambda: nvtx.annotate("x", domain=3), "domain must be str, not int"),
            (lambda: nvtx.annotate("x", color=3.5), "color must be"),
            (lambda: nvtx.annotate("x", category=3.5), "category must be int, not float"),
            (lambda: nvtx._device_range_start(3), "msg must be str, not int"),
            (lambda: kymo.counter("x", "y"), "counter: value must be int or float, not str"),
            (lambda: kymo.counter("x"), "but 1 were given"),
        ]:
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                call()

    def test_numbers_out_of_range(self):
        for number in (-1, 2**64):
            with self.assertRaisesRegex(OverflowError, f"range_id is {number}; it must be from 0 to 2\\*\\*64 - 1"):
                nvtx.range_end(number)

    def test_an_unknown_colour_names_the_known_ones(self):
        with self.assertRaisesRegex(kymo.InvalidArgument, '"mauvish" is not a color; use .*orange'):
            nvtx.annotate("x", color="mauvish")
        with self.assertRaisesRegex(ValueError, "from 0 to 0xffffffff"):
            nvtx.annotate("x", color=1 << 33)

    def test_types_cannot_be_made_by_hand(self):
        with self.assertRaises(TypeError):
            type(nvtx.range("x"))()


class DeviceRangeTest(unittest.TestCase):
    def test_without_a_device_the_error_says_what_is_missing(self):
        if kymo._annotate.has_cuda():
            self.skipTest("this process has the CUDA driver")
        with self.assertRaisesRegex(kymo.NotAvailable, "needs the CUDA driver"):
            nvtx._device_range_start("x", 12345)


class PypiFunctionsTest(unittest.TestCase):
    def test_annotate_as_a_scope_and_as_a_decorator(self):
        @nvtx.annotate()
        def load():
            return 3

        @nvtx.annotate("named", color="blue", domain="reader", category=5, payload=2.5)
        def other():
            return 4

        with recorded() as trace:
            with nvtx.annotate("scope", category="io", payload=4096):
                self.assertEqual(load() + other(), 7)
        scope, first, second = trace().ranges()
        self.assertEqual([scope["name"], first["name"], second["name"]], ["scope", "load", "named"])
        self.assertEqual((scope["args"]["category"], scope["args"]["value"]), ("io", 4096))
        self.assertEqual((second["args"]["category"], second["args"]["value"]), (5, 2.5))

    def test_an_exception_ends_a_decorated_function(self):
        @nvtx.annotate("fails")
        def fails():
            raise KeyError

        with recorded() as trace:
            with self.assertRaises(KeyError):
                fails()
            self.assertEqual(nvtx.range_pop(), -1)
        self.assertEqual(trace().names(), ["fails"])

    def test_domains_have_stacks_of_their_own(self):
        with recorded() as trace:
            nvtx.push_range("a1", domain="a")
            nvtx.push_range("b1", domain="b")
            nvtx.pop_range(domain="a")
            nvtx.push_range("b2", domain="b")
            nvtx.pop_range(domain="b")
            nvtx.pop_range(domain="b")
            nvtx.push_range("default")
            nvtx.pop_range()
        names = trace().names()
        self.assertEqual(names.count("a1"), 1)
        self.assertEqual(names.count("b1"), 2)  # in two parts, because a1 ended inside
        self.assertEqual(names.count("b2"), 1)
        self.assertEqual(names.count("default"), 1)

    def test_domain_objects(self):
        domain = nvtx.get_domain("objects")
        self.assertIs(domain, nvtx.get_domain("objects"))
        self.assertIsNot(domain, nvtx.get_domain())
        attributes = domain.get_event_attributes(message="one", color="green")
        with recorded() as trace:
            domain.push_range(attributes)
            attributes.message = "two"
            domain.mark(attributes)
            domain.pop_range()
            domain.end_range(domain.start_range(attributes))
        self.assertEqual((trace().names(), trace().marks(), trace().async_names()), (["one"], ["two"], ["two"]))
        with self.assertRaises(kymo.InvalidArgument):
            attributes.color = "nothing"
        self.assertEqual(attributes.color, "green")

    def test_payloads_of_any_kind(self):
        with recorded() as trace:
            for payload in (1, 2.5, [1, 2], b"xy", range(3)):
                with nvtx.annotate("p", payload=payload):
                    pass
        self.assertEqual([event["args"]["value"] for event in trace().ranges()], [1, 2.5, "[1, 2]", "b'xy'", "range(0, 3)"])

    def test_braces_in_a_message_stay(self):
        with recorded() as trace:
            with nvtx.annotate("{x}", payload=1):
                pass
        self.assertEqual(trace().names(), ["{x}"])

    def test_ranges_across_threads(self):
        with recorded() as trace:
            number = nvtx.start_range("request", domain="server")
            nvtx.end_range(number)
        self.assertEqual(trace().async_names(), ["request"])
        self.assertEqual(number.domain, "server")

    def test_an_annotation_survives_pickle(self):
        copy = pickle.loads(pickle.dumps(nvtx.annotate("x", color="red", domain="d", category=3, payload=4)))
        self.assertEqual((copy.attributes.message, copy.attributes.payload, copy.domain.name), ("x", 4, "d"))


class InstallTest(unittest.TestCase):
    def tearDown(self):
        nvtx.uninstall()
        for name in ("torch", "torch.cuda", "torch.cuda.nvtx", "nvtx"):
            sys.modules.pop(name, None)

    def test_modules_that_are_not_imported_yet(self):
        nvtx.install()
        nvtx.install()
        import nvtx as other
        self.assertIs(other, nvtx)
        nvtx.uninstall()
        self.assertNotIn("nvtx", sys.modules)

    def test_modules_that_are_imported(self):
        torch, cuda, inner = (types.ModuleType(name) for name in ("torch", "torch.cuda", "torch.cuda.nvtx"))
        torch.cuda, cuda.nvtx = cuda, inner
        inner.range_push = inner.range_pop = original = lambda *_: None
        sys.modules.update({"torch": torch, "torch.cuda": cuda, "torch.cuda.nvtx": inner})
        nvtx.install()
        self.assertIs(inner.range_push, nvtx.range_push)  # who holds the module sees the change
        self.assertIs(torch.cuda.nvtx, nvtx)
        import torch.cuda.nvtx as imported
        self.assertIs(imported, nvtx)
        nvtx.uninstall()
        self.assertIs(inner.range_push, original)
        self.assertIs(torch.cuda.nvtx, inner)
        self.assertFalse(hasattr(inner, "range_start"))


if __name__ == "__main__":
    unittest.main()
