"""kymo.profiler: what users of torch.profiler write, on a recording of Kymo; and kymo.ondemand."""
import gzip
import importlib.util
import json
import os
import tempfile
import unittest
import warnings

import kymo
from kymo import ondemand
from kymo.averages import of_events
from kymo.profiler import (ProfilerAction, ProfilerActivity, profile, record_function, schedule,
                           tensorboard_trace_handler)
from traces import Trace, python


def actions(count, **options):
    plan = schedule(**options)
    return "".join({"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}[plan(i).name] for i in range(count))


class ScheduleTest(unittest.TestCase):
    def test_actions_are_those_of_torch(self):
        self.assertEqual(actions(10, wait=1, warmup=1, active=3), ".wrrS.wrrS")
        self.assertEqual(actions(10, wait=1, warmup=1, active=2, repeat=1), ".wrS......")
        self.assertEqual(actions(10, wait=1, warmup=1, active=1, skip_first=3), "....wS.wS.")
        self.assertEqual(actions(8, wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1), ".wS..wS.")

    def test_no_warmup_is_a_warning(self):
        with self.assertWarnsRegex(UserWarning, "without warmup"):
            self.assertEqual(actions(4, wait=0, warmup=0, active=2), "rSrS")

    def test_wrong_numbers(self):
        for options in ({"wait": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -2}):
            with self.assertRaisesRegex(ValueError, f"schedule: {next(iter(options))} is"):
                schedule(**{"wait": 1, "warmup": 1, "active": 1, **options})


class ProfileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def loop(self, steps, **options):
        with profile(**options) as prof:
            for step in range(steps):
                with record_function("forward"):
                    with record_function("layer", f"number {step}"):
                        pass
                prof.step()
        return prof

    def test_without_a_schedule_everything_is_recorded(self):
        prof = self.loop(3, activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True)
        averages = prof.key_averages(group_by_input_shape=True)
        self.assertEqual((averages["forward"].count, averages["layer"].count), (3, 3))
        self.assertGreaterEqual(averages["forward"].cpu_time_total, averages["forward"].self_cpu_time_total)
        table = averages.table(sort_by="self_cpu_time_total", row_limit=10)
        self.assertRegex(table, r"Name +Self CPU %")
        self.assertRegex(table, r"forward .*%.*(us|ms|s) .*3\n")
        self.assertRegex(table, "Self CPU time total: ")
        self.assertEqual(averages.table(row_limit=1).count("%"), 2 + 2)

    def test_a_schedule_calls_back_for_each_cycle(self):
        seen = []
        self.loop(9, schedule=schedule(wait=1, warmup=1, active=2),
                  on_trace_ready=lambda prof: seen.append((prof.step_num, prof.key_averages()["forward"].count)))
        self.assertEqual(seen, [(4, 2), (8, 2)])  # the numbers of PyTorch

    def test_steps_are_ranges_and_the_iterations_of_kymo_report(self):
        ready = []
        with profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
                     on_trace_ready=lambda prof: ready.append(kymo.open(prof.trace_path))) as prof:
            for _ in range(2):
                with record_function("epoch"):  # it is open across the begin of one step and the end of another
                    for _ in range(3):
                        prof.step()
        trace, = ready
        names = [trace.names[number] for number in trace.ranges.name_id]
        self.assertEqual(sorted(name for name in names if name.startswith("ProfilerStep")), ["ProfilerStep#{}"] * 3)
        self.assertEqual(names.count("epoch"), 1)
        iterations = trace.report()["iterations"]
        self.assertEqual((iterations["name"], iterations["count"]), ("ProfilerStep#{}", 3))
        self.assertEqual(prof.key_averages()["ProfilerStep*"].count, 3)

    def test_chrome_traces(self):
        prof = self.loop(2)
        prof.add_metadata("model", "resnet")
        prof.add_metadata_json("sizes", "[1, 2]")
        plain, packed = os.path.join(self.folder, "a.json"), os.path.join(self.folder, "a.json.gz")
        prof.export_chrome_trace(plain)
        prof.export_chrome_trace(packed)
        with open(plain, encoding="utf-8") as file:
            trace = json.load(file)
        with gzip.open(packed, "rt", encoding="utf-8") as file:
            self.assertEqual(json.load(file), trace)
        self.assertEqual((trace["model"], trace["sizes"]), ("resnet", [1, 2]))
        names = [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(names.count("forward"), 2)
        self.assertEqual([event["name"] for event in prof.events()].count("layer"), 2)
        layer = next(event for event in prof.events() if event["name"] == "layer")
        self.assertEqual(layer["args"]["value"], "number 0")
        prof.export(os.path.join(self.folder, "a.kymo"))
        self.assertEqual(Trace(os.path.join(self.folder, "a.kymo")).names().count("forward"), 2)

    def test_with_stack_records_functions(self):
        def work():
            return 3

        with profile(with_stack=True) as prof:
            work()
        self.assertTrue([one for one in prof.key_averages() if ".work (test_profiler.py" in one.key])

    def test_with_stack_does_not_record_how_an_older_profile_is_removed(self):
        older = self.loop(1)
        folder = os.path.dirname(older.trace_path)
        with profile(with_stack=True) as prof:
            del older
        self.assertFalse(os.path.exists(folder))
        self.assertEqual([one.key for one in prof.key_averages() if ".py:" in one.key], [])

    def test_start_and_stop(self):
        prof = profile()
        prof.start()
        with record_function("x"):
            pass
        prof.stop()
        prof.stop()
        self.assertEqual(prof.key_averages()["x"].count, 1)
        prof.start()  # another recording replaces the first one
        prof.stop()
        with self.assertRaises(KeyError):
            prof.key_averages()["x"]

    def test_the_tensorboard_handler(self):
        self.loop(1, on_trace_ready=tensorboard_trace_handler(os.path.join(self.folder, "log"), "w", use_gzip=True))
        name, = os.listdir(os.path.join(self.folder, "log"))
        self.assertRegex(name, r"^w\.\d+\.pt\.trace\.json\.gz$")

    def test_record_function_as_a_decorator(self):
        @record_function("double")
        def double(x):
            return 2 * x

        with profile() as prof:
            self.assertEqual(double(4), 8)
        self.assertEqual(prof.key_averages()["double"].count, 1)

    def test_an_exception_ends_the_recording(self):
        prof = profile()
        with self.assertRaises(ZeroDivisionError), prof:
            with record_function("fails"):
                1 / 0
        self.assertEqual(prof.key_averages()["fails"].count, 1)
        self.assertFalse(kymo.is_recording())

    def test_mistakes(self):
        with self.assertRaisesRegex(kymo.Error, "nothing was recorded yet"):
            profile().key_averages()
        with self.assertRaisesRegex(kymo.Error, "does not run"):
            profile().step()
        with self.assertRaisesRegex(kymo.InvalidArgument, "'cpu' is not an activity"):
            profile(activities=["cpu"])
        with self.assertRaisesRegex(TypeError, "schedule must be a function"):
            profile(schedule=3)
        with self.assertRaisesRegex(TypeError, "on_trace_ready must be a function"):
            profile(on_trace_ready="x")
        with self.assertRaisesRegex(kymo.InvalidArgument, "the schedule returned 3 for step 0"):
            profile(schedule=lambda step: 3).start()
        with self.assertRaisesRegex(TypeError, "activities must be a list of ProfilerActivity, not int"):
            profile(activities=3)
        with self.assertRaisesRegex(TypeError, "client must be a Client, or have one of its methods .*, not int"):
            ondemand.register_client(3)
        for path in ("", "trace", "trace.txt", "trace.gz"):
            with self.assertRaisesRegex(kymo.InvalidArgument, f'cannot write a trace to "{path}": use .kymo, .json'):
                ondemand.start(path)
        with profile() as prof:
            with self.assertRaisesRegex(kymo.Error, "still runs"):
                prof.key_averages()
            with self.assertRaisesRegex(kymo.Error, "runs already"):
                prof.start()
        with self.assertRaisesRegex(kymo.InvalidArgument, 'sort_by is "time"; use one of: cpu_time'):
            prof.key_averages().table(sort_by="time")
        with self.assertRaises(TypeError):
            record_function(3)

    def test_work_of_devices_belongs_to_what_launched_it(self):
        def host(name, ts, dur, number=None, **args):
            return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
                    "args": {"External id": number, **args} if number else args}

        events = [host("linear", 0, 100, 1), host("addmm", 10, 50, 2, **{"Input Dims": [[2, 3]]}),
                  host("cuLaunchKernel", 20, 5, 2, correlation=7), host("addmm", 200, 10, 3, **{"Input Dims": [[4]]}),
                  {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 30, "args": {"bytes": 64, "device": "GPU"}},
                  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 90, "dur": 30,
                   "args": {"External id": 2, "correlation": 7, "stream": 7}}]
        averages = of_events(events)
        linear, addmm, kernel = averages["linear"], averages["addmm"], averages["gemm"]
        self.assertEqual((linear.device_time_total, linear.self_device_time_total), (30, 0))
        self.assertEqual((addmm.device_time_total, addmm.self_device_time_total, addmm.count), (30, 30, 2))
        self.assertEqual((linear.self_cpu_time_total, addmm.self_cpu_time_total), (50, 55))
        self.assertEqual((kernel.device_time_total, kernel.cpu_time_total), (30, 0))
        self.assertEqual((linear.device_memory_usage, linear.self_device_memory_usage), (64, 0))
        by_shape = [one for one in of_events(events, by_shape=True) if one.key == "addmm"]
        self.assertEqual([(one.input_shapes, one.count) for one in by_shape], [("[[2, 3]]", 1), ("[[4]]", 1)])

    def test_operators_of_pytorch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("PyTorch is not installed")
        path = os.path.join(self.folder, "stacks.txt")
        python("""
            import sys
            import torch
            from kymo.profiler import profile
            network = torch.nn.Linear(8, 8)
            optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
            def train(prof):
                with prof:
                    for _ in range(3):
                        network(torch.ones(2, 8)).sum().backward()
                        optimizer.step()
                return prof
            averages = train(profile()).key_averages()
            for name in "aten::linear", "aten::addmm", "AddmmBackward0", "Optimizer.step#SGD.step":
                assert averages[name].count == 3, (name, averages[name])
            assert averages["aten::linear"].cpu_time_total >= averages["aten::addmm"].cpu_time_total
            train(profile(with_stack=True)).export_stacks(sys.argv[1])
        """, path)
        with open(path, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?m)Linear\.forward [^;]*;aten::linear.* \d+$")

    def test_a_process_that_is_recorded_already(self):
        path = os.path.join(self.folder, "outside.kymo")
        python("""
            import kymo
            from kymo.profiler import profile, record_function
            with profile() as prof:
                with record_function("forward"):
                    pass
                prof.step()
            try:
                prof.key_averages()
            except kymo.Error as error:
                assert "kymo record or KYMO_TRACE" in str(error), error
            else:
                raise AssertionError
        """, env={"KYMO_TRACE": path})
        self.assertIn("forward", Trace(path).names())


    def reason(self, prof):
        with self.assertRaises(kymo.Error) as caught:
            prof.key_averages()
        return str(caught.exception)

    def test_the_reason_names_the_recording_that_runs(self):
        path = os.path.join(self.folder, "session.kymo")
        with kymo.Session(path), profile() as inside:
            with record_function("forward"):
                pass
        self.assertIn(f"kymo.Session({path!r}) records this process", self.reason(inside))
        self.assertEqual(len(kymo.open(path).durations("forward")), 1)

        with profile() as outer:
            with profile() as inner, record_function("forward"):
                pass
            self.assertIn("another profile() records this process", self.reason(inner))
        self.assertEqual(outer.key_averages()["forward"].count, 1)

        ondemand.start(os.path.join(self.folder, "asked.kymo"))
        with profile() as asked:
            pass
        ondemand.stop()
        self.assertIn("kymo trigger or kymo.ondemand.start() records this process", self.reason(asked))

        with asked:  # nothing else records now
            pass
        self.assertTrue(os.path.exists(asked.trace_path))

    def test_the_total_has_the_shortest_and_the_longest_range(self):
        averages = self.loop(3).key_averages()
        total = averages.total_average()
        self.assertEqual(total.count, sum(one.count for one in averages))
        self.assertEqual(total.min_us, min(one.min_us for one in averages))
        self.assertEqual(total.max_us, max(one.max_us for one in averages))
        self.assertLessEqual(total.min_us, total.median_us)
        self.assertLessEqual(total.median_us, total.max_us)
        self.assertGreater(total.max_us, 0)
        nothing = type(averages)().total_average()
        self.assertEqual((nothing.count, nothing.min_us, nothing.median_us, nothing.max_us), (0, 0.0, 0.0, 0.0))


class OnDemandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "asked.kymo")

    def test_steps_are_counted_and_recorded(self):
        before = ondemand.steps()
        ondemand.start(self.path)
        ondemand.step()
        ondemand.step()
        ondemand.stop()
        self.assertEqual(ondemand.steps(), before + 2)
        self.assertEqual(len(Trace(self.path).marks()), 2)

    def test_a_client_gets_every_call(self):
        calls = []

        class Recorder(ondemand.Client):
            def prepare(self, *options):
                calls.append(("prepare", *options))

            def start(self):
                calls.append("start")
                assert kymo.is_recording()

            def stop(self):
                calls.append("stop")

        client = Recorder()
        ondemand.register_client(client)
        with self.assertRaisesRegex(kymo.Error, "registered already"):
            ondemand.register_client(client)
        ondemand.prepare(True, with_stack=True)
        ondemand.start(self.path)
        ondemand.stop()
        ondemand.unregister_client(client)
        ondemand.start(self.path)
        ondemand.stop()
        self.assertEqual(calls, [("prepare", True, False, True, False, False), "start", "stop"])
        with self.assertRaisesRegex(kymo.Error, "not registered"):
            ondemand.unregister_client(client)

    def test_an_exception_of_a_client_is_the_message(self):
        class Fails:
            def start(self):
                raise ValueError("no memory")

        client = Fails()
        ondemand.register_client(client)
        try:
            with self.assertRaisesRegex(kymo.Error, r"start\(\) raised ValueError: no memory"):
                ondemand.start(self.path)
        finally:
            ondemand.unregister_client(client)
        self.assertFalse(kymo.is_recording())

    def test_a_process_may_end_with_a_client(self):
        python("""
            from kymo import ondemand
            class Client(ondemand.Client):
                pass
            ondemand.register_client(Client())
            ondemand.start("/dev/null/x" if False else __file__ + ".kymo")
        """)

    def test_wrong_arguments(self):
        with self.assertRaises(TypeError):
            ondemand.start(3)
        with self.assertRaises(kymo.Error):
            ondemand.stop()
        with self.assertRaises(kymo.Error):
            ondemand.start(os.path.join(self.path, "missing", "a.kymo"))
        with self.assertRaises(TypeError):
            ondemand.prepare(nothing=True)


if __name__ == "__main__":
    unittest.main()
