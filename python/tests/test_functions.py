"""Every Python function as a range: kymo.trace_functions and kymo record --python."""
import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import warnings

import kymo
from kymo import nvtx
from traces import KYMO, Trace, python, recorded


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers():
    yield 1
    yield 2


def fails():
    raise KeyError("x")


class Holder:
    def method(self):
        return [x for x in self.inner()]

    @staticmethod
    def inner():
        return (1, 2)


def named(trace, name):
    return [event for event in trace.ranges() if event["name"].startswith(name + " (")]


class TraceFunctionsTest(unittest.TestCase):
    def test_every_call_is_a_range_with_its_place(self):
        with recorded() as trace, kymo.trace_functions():
            fibonacci(5)
            Holder().method()
        calls = named(trace(), "fibonacci")
        self.assertEqual(len(calls), 15)
        line = fibonacci.__code__.co_firstlineno
        self.assertEqual({call["name"] for call in calls}, {f"fibonacci (test_functions.py:{line})"})
        self.assertEqual(len(named(trace(), "Holder.method")), 1)
        self.assertEqual(len(named(trace(), "Holder.inner")), 1)

    def test_calls_nest(self):
        with recorded() as trace, kymo.trace_functions():
            Holder().method()
        outer, = named(trace(), "Holder.method")
        inner, = named(trace(), "Holder.inner")
        self.assertLessEqual(outer["ts"], inner["ts"])
        self.assertGreaterEqual(outer["ts"] + outer["dur"], inner["ts"] + inner["dur"])

    def test_generators_and_exceptions(self):
        with recorded() as trace, kymo.trace_functions():
            self.assertEqual(list(numbers()), [1, 2])
            unfinished = numbers()
            next(unfinished)
            with self.assertRaises(KeyError):
                fails()
            with nvtx.range("after"):
                pass
        self.assertEqual(len(named(trace(), "numbers")), 4)
        self.assertEqual(len(named(trace(), "fails")), 1)
        after, = trace().ranges("after")
        self.assertFalse([one for one in named(trace(), "fails")
                          if one["ts"] + one["dur"] > after["ts"] + after["dur"]])

    def test_annotations_across_functions_are_undisturbed(self):
        def opens():
            nvtx.range_push("across")

        def closes():
            nvtx.range_pop()

        with recorded() as trace, kymo.trace_functions():
            opens()
            fibonacci(2)
            closes()
        self.assertGreaterEqual(len(trace().ranges("across")), 1)
        self.assertEqual(len(named(trace(), "fibonacci")), 3)

    def test_functions_written_in_c(self):
        with recorded() as trace, kymo.trace_functions(c_functions=True):
            sorted([2, 1])
            "a,b".split(",")
            with self.assertRaises(ValueError):
                [].remove(3)
        names = trace().names()
        for name in ("sorted", "str.split", "list.remove"):
            self.assertIn(name, names)

    def test_threads_have_tracks_with_their_names(self):
        ready, go = threading.Event(), threading.Event()

        def early():
            ready.set()
            go.wait()
            fibonacci(3)

        running = threading.Thread(target=early, name="early bird")
        running.start()
        ready.wait()
        with recorded() as trace, kymo.trace_functions():
            go.set()
            running.join()
            late = threading.Thread(target=fibonacci, args=(4,), name="late bird")
            late.start()
            late.join()
        self.assertEqual(len(named(trace(), "fibonacci")), 5 + 9)
        self.assertIn("late bird", trace().thread_names())

    def test_tasks_of_asyncio(self):
        async def child():
            await asyncio.sleep(0)
            fibonacci(2)

        async def main():
            await asyncio.gather(*[asyncio.create_task(child(), name=f"child {i}") for i in range(3)])

        with recorded() as trace, kymo.trace_functions():
            asyncio.run(main())
        tasks = [(event["name"], event["cat"]) for event in trace().events if event["ph"] == "b"]
        for i in range(3):
            self.assertEqual(tasks.count((f"child {i}", "asyncio")), 1)
            self.assertEqual(tasks.count((f"child {i}", "asyncio step")), 2)
        self.assertEqual(len(named(trace(), "TraceFunctionsTest.test_tasks_of_asyncio.<locals>.child")), 6)

    def test_a_task_at_the_address_of_a_dropped_one_is_another_task(self):
        count = 30

        async def steps(number):
            for _ in range(number):
                await asyncio.sleep(0)

        async def start(name, number):
            return [asyncio.create_task(steps(number), name=f"{name} {i}") for i in range(count)]

        with recorded() as trace, kymo.trace_functions():
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # it reports tasks that are destroyed
            tasks = loop.run_until_complete(start("old", 100))
            loop.run_until_complete(asyncio.sleep(0))
            self.assertFalse(any(task.done() for task in tasks))
            loop.close()
            del tasks
            gc.collect()

            async def main():
                await asyncio.gather(*await start("new", 2))

            asyncio.run(main())
        started = [(event["name"], event["cat"]) for event in trace().events if event["ph"] == "b"]
        for i in range(count):
            self.assertEqual(started.count((f"new {i}", "asyncio")), 1)
            self.assertEqual(started.count((f"new {i}", "asyncio step")), 3)

    def test_steps_of_a_task_are_inside_it_and_do_not_overlap(self):
        async def worker(count):
            for _ in range(count):
                await asyncio.sleep(0)

        async def main():
            await asyncio.gather(worker(3), worker(3))  # Task-N: names that nobody gave

        with recorded() as trace, kymo.trace_functions():
            asyncio.run(main())
        open_ranges, tasks, steps = {}, {}, {}
        for event in trace().events:
            if event["ph"] == "b":
                open_ranges[event["id2"]["local"]] = event
            elif event["ph"] == "e":
                begin = open_ranges.pop(event["id2"]["local"])
                spans = tasks if begin["cat"] == "asyncio" else steps
                spans.setdefault(begin["name"], []).append((float(begin["ts"]), float(event["ts"])))
        self.assertGreaterEqual(len(tasks), 3)  # main, two workers, and those of asyncio.run
        self.assertEqual(sorted(tasks), sorted(steps))
        for name, ((start, end),) in tasks.items():
            self.assertRegex(name, r"^Task-\d+$")
            self.assertTrue(all(start <= begin <= done <= end for begin, done in steps[name]), name)
        every = sorted(span for spans in steps.values() for span in spans)
        self.assertTrue(all(first[1] <= second[0] for first, second in zip(every, every[1:])))  # one thread
        self.assertEqual(sorted(map(len, steps.values()))[-3:], [2, 4, 4])

    def test_tasks_that_fail_or_are_cancelled_end(self):
        async def fails():
            await asyncio.sleep(0)
            raise ValueError("x")

        async def waits():
            await asyncio.sleep(60)

        async def main():
            failing, waiting = (asyncio.create_task(work(), name=work.__name__) for work in (fails, waits))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(failing, waiting, return_exceptions=True)

        with recorded() as trace, kymo.trace_functions():
            asyncio.run(main())
        started, ended = ([event["name"] for event in trace().events if event["ph"] == phase] for phase in "be")
        self.assertEqual(sorted(started), sorted(ended))
        self.assertIn("fails", started)
        self.assertIn("waits", started)

    def test_a_tracing_that_stops_inside_a_step(self):
        async def main():
            tracing.stop()
            await asyncio.sleep(0)

        with recorded() as trace:
            tracing = kymo.trace_functions()
            asyncio.run(main())
        self.assertEqual(sorted(event["cat"] for event in trace().events if event["ph"] == "b"),
                         ["asyncio", "asyncio step"])

    def test_functions_that_are_made_and_dropped(self):
        with recorded() as trace, kymo.trace_functions():
            for i in range(3000):
                space = {}
                exec(f"def made_{i % 7}():\n    return {i}", space)
                self.assertEqual(space[f"made_{i % 7}"](), i)
        self.assertEqual(len(named(trace(), "made_3")), len(range(3, 3000, 7)))

    def test_a_second_tracing_is_an_error(self):
        with kymo.trace_functions() as first:
            with self.assertRaisesRegex(kymo.Error, "recorded already"):
                kymo.trace_functions()
        first.stop()
        kymo.trace_functions().stop()

    def test_a_tracing_that_has_ended_cannot_be_used_again(self):
        ended = kymo.trace_functions()
        ended.stop()
        with self.assertRaisesRegex(kymo.Error, r"has ended: start another one with kymo.trace_functions\(\)"):
            with ended:
                pass

    @unittest.skipIf(hasattr(sys, "monitoring"), "this Python has hooks that nobody replaces")
    def test_another_profiler_inside_is_a_warning(self):
        for replace in (lambda: sys.setprofile(None), lambda: sys.setprofile(lambda *_event: None)):
            tracing = kymo.trace_functions()
            replace()
            with self.assertWarnsRegex(RuntimeWarning, "another profiler has replaced the one of kymo.trace_functions"):
                tracing.stop()
            sys.setprofile(None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with kymo.trace_functions():
                pass
            tracing = kymo.trace_functions()
            thread = threading.Thread(target=tracing.stop)
            thread.start()
            thread.join()
        self.assertIsNone(sys.getprofile())

    def test_nothing_of_kymo_is_recorded(self):
        with recorded() as trace, kymo.trace_functions(c_functions=True):
            with nvtx.annotate("x", color="red"):
                pass
        self.assertEqual([name for name in trace().names() if name != "x"], [])

    def test_profile_of_pypis_nvtx(self):
        profile = nvtx.Profile(annotate_cfuncs=False)
        with recorded() as trace:
            profile.enable()
            fibonacci(2)
            profile.disable()
            fibonacci(2)
        self.assertEqual(len(named(trace(), "fibonacci")), 3)


SCRIPT = """
    import sys
    def work(n):
        return sum(range(n))
    class Loader:
        def read(self):
            return work(3)
    if __name__ == "__main__":
        assert sys.argv[1:] == ["--epochs", "2"], sys.argv
        assert "startup" not in "".join(sys.path), sys.path
        assert Loader().read() == 3
        sys.exit(7)
"""


class RecordCommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "run.kymo")
        self.script = os.path.join(self.folder, "script.py")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(SCRIPT))
        # An unmodified script does not know where Kymo is.
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run_kymo(self, *arguments, **options):
        return subprocess.run([KYMO, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=600,
                              **{"env": self.environment, **options})

    def test_an_unmodified_script(self):
        done = self.run_kymo("record", "--python", "--no-sample", "-o", self.path, "--", sys.executable, self.script,
                             "--epochs", "2")
        self.assertEqual(done.returncode, 7, done.stderr)
        trace = Trace(self.path)
        self.assertEqual(len(named(trace, "work")), 1)
        self.assertEqual(len(named(trace, "Loader.read")), 1)
        self.assertEqual(len(trace.ranges("<module> (script.py:1)")), 1)

    def test_the_sitecustomize_of_the_user_is_loaded(self):
        with open(os.path.join(self.folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("print('customized')\n")
        done = self.run_kymo("record", "--python", "--no-sample", "-o", self.path, "--", sys.executable, "-c", "pass",
                             env={**self.environment, "PYTHONPATH": self.folder})
        self.assertEqual((done.returncode, done.stdout), (0, "customized\n"), done.stderr)

    def test_without_a_sitecustomize_of_the_user_there_is_none(self):
        # As site.py imports it, in an interpreter that has none: pyenv, a virtual environment.
        startup = os.path.join(os.path.dirname(kymo.__file__), "startup")
        script = ("import os, sys; sys.path[:] = [%r]\n"
                  "try: import sitecustomize\n"
                  "except ImportError as error: print(error.name, sys.path, 'sitecustomize' in sys.modules)\n" % startup)
        done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, env=self.environment)
        self.assertEqual((done.stdout, done.stderr), ("sitecustomize [] False\n", ""))
        done = self.run_kymo("record", "--quiet", "--python", "--no-sample", "-o", self.path, "--", sys.executable, "-c",
                             "pass")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_wrong_value(self):
        done = self.run_kymo("record", "--python=some", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--python: 'some' is not valid; use --python or --python=all", done.stderr)

    def test_python_m_kymo_record(self):
        done = subprocess.run([sys.executable, "-m", "kymo", "record", "--no-sample", "script.py", "--epochs", "2"],
                              capture_output=True, text=True, cwd=self.folder, timeout=600)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(len(named(Trace(os.path.join(self.folder, "script.kymo")), "work")), 1)

    def test_python_m_kymo_with_other_commands_and_mistakes(self):
        done = python("import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-m', 'kymo', '--version']))")
        self.assertIn("kymo", done.stdout)
        for arguments, text in (["record"], "no script given"), (["record", "absent.py"], "absent.py: no such file"):
            done = subprocess.run([sys.executable, "-m", "kymo", *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
