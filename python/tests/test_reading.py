"""kymo.open: columns, statistics, reports, queries, notebooks, and files that are not traces."""
import contextlib
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

import kymo
import numpy
from kymo import command
from traces import SANITIZED, missing_duckdb

RECORD = """
from kymo import nvtx
for step in range(20):
    nvtx.range_push("step")
    for _ in range(3):
        nvtx.range_push("load")
        nvtx.range_pop()
    nvtx.range_push("däta")
    nvtx.range_pop()
    nvtx.range_pop()
"""


class ReadingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "run.kymo")
        subprocess.run([sys.executable, "-c", RECORD], check=True, env={**os.environ, "KYMO_TRACE": cls.path})

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_columns(self):
        with kymo.open(self.path) as trace:
            ranges = trace.ranges
            self.assertEqual((len(ranges), trace.counts["ranges"]), (100, 100))
            self.assertEqual((ranges.start_ns.dtype, ranges.duration_ns.dtype, ranges.depth.dtype),
                             (numpy.int64, numpy.int64, numpy.uint16))
            names = ranges.name
            self.assertEqual({name: int((names == name).sum()) for name in set(names)},
                             {"step": 20, "load": 60, "däta": 20})
            self.assertEqual(set(ranges.depth[names == "step"]), {0})
            self.assertEqual(set(ranges.depth[names == "load"]), {1})
            self.assertEqual([trace.names[i] for i in ranges.name_id], names.tolist())
            self.assertEqual(len({trace.tracks[i]["tid"] for i in ranges.track}), 1)
            self.assertIs(ranges.start_ns, ranges.start_ns)  # decoded once
            self.assertTrue((ranges.duration_ns >= 0).all())
            steps = numpy.sort(ranges.start_ns[names == "step"])
            self.assertTrue((numpy.diff(steps) >= 0).all())
            self.assertGreater(steps[0], 1_600_000_000 * 10**9)  # since 1970
        self.assertEqual(len(names), 100)  # arrays stay valid

    def test_durations_are_those_of_the_columns_and_of_stats(self):
        trace = kymo.open(self.path)
        for name in ("step", "load", "däta"):
            durations = trace.durations(name)
            self.assertEqual(durations.tolist(), trace.ranges.duration_ns[trace.ranges.name == name].tolist())
            row = next(row for row in trace.stats() if row["name"] == name)
            self.assertEqual((row["count"], row["min_ns"], row["max_ns"]),
                             (len(durations), durations.min(), durations.max()))
        self.assertEqual(trace.durations("nothing").tolist(), [])
        self.assertNotIn("nothing", trace.names)
        for wrong in (None, 3, b"step"):
            with self.assertRaises(TypeError):
                trace.durations(wrong)

    def test_stats_and_report_print_well(self):
        trace = kymo.open(self.path)
        stats = trace.stats()
        self.assertEqual(stats.columns[:2], ["name", "category"])
        self.assertIn("load", str(stats))
        self.assertIn("<td>load</td>", stats._repr_html_())
        report = trace.report()
        self.assertIsInstance(report, dict)
        self.assertIn("step", json.dumps(report))
        self.assertIn("step", str(report))

    def test_query(self):
        if reason := missing_duckdb():
            self.skipTest(reason)
        trace = kymo.open(self.path)
        rows = trace.query("SELECT name, count(*) AS n FROM ranges GROUP BY name ORDER BY n DESC, name")
        self.assertEqual(rows[0], {"name": "load", "n": 60})
        with self.assertRaises(kymo.Error):
            trace.query("SELECT nothing FROM nowhere")
        with self.assertRaises(TypeError):
            trace.query(3)
        for text in ("-- a comment\nSELECT 1 AS n", "/* a comment */ SELECT 1 AS n", "SELECT/**/1/**/AS/**/n",
                     "SELECT 1 AS n -- a comment", "--json\nSELECT 1 AS n;"):
            self.assertEqual(trace.query(text), [{"n": 1}], text)
        self.assertEqual(trace.query("SELECT 1 AS n, 2 AS n, 3 AS n, 4 AS n_1"),
                         [{"n": 1, "n_2": 2, "n_3": 3, "n_1": 4}])
        self.assertEqual(trace.query("SELECT 'inf'::DOUBLE AS a, '-inf'::DOUBLE AS b, NULL AS c, 'NaN' AS d"),
                         [{"a": float("inf"), "b": float("-inf"), "c": None, "d": "NaN"}])
        for nothing in ("", "  \n"):
            with self.assertRaisesRegex(kymo.InvalidArgument, r"query: sql is '.*'; give a statement"):
                trace.query(nothing)
        with self.assertRaisesRegex(kymo.Error, "Parser Error"):
            trace.query("help")

    def test_a_notebook_shows_the_timeline(self):
        page = kymo.open(self.path)._repr_html_()
        self.assertTrue(page.startswith("<iframe srcdoc="), page[:200])
        self.assertNotIn("<script", page)  # it is escaped
        self.assertIn("&lt;script", page)
        self.assertLess(len(page), 32 << 20)

    def test_a_timeline_that_is_too_large_becomes_a_table(self):
        from kymo import reading
        trace = kymo.open(self.path)
        before, reading._PAGE_BYTES = reading._PAGE_BYTES, 100
        try:
            self.assertIn("<td>load</td>", trace._repr_html_())
        finally:
            reading._PAGE_BYTES = before

    def test_traces_of_other_tools(self):
        path = os.path.join(self.folder.name, "chrome.json")
        events = [{"ph": "X", "name": f"op{i % 3}", "ts": i * 10, "dur": 2 + i % 3, "pid": 1, "tid": 2} for i in range(30)]
        with open(path, "w") as file:
            json.dump({"traceEvents": events}, file)
        trace = kymo.open(path)
        self.assertEqual(trace.durations("op1").tolist(), [3000] * 10)
        self.assertEqual(trace.path, path)
        self.assertEqual(trace.tracks[0]["tid"], 2)

    def test_names_inside_of_events(self):
        path = os.path.join(self.folder.name, "many.json")
        with open(path, "w") as file:
            json.dump([{"ph": "X", "name": f"name {i}", "ts": i, "dur": 1, "pid": 1, "tid": 1} for i in range(5000)], file)
        trace = kymo.open(path)
        self.assertEqual(trace.durations("name 4321").tolist(), [1000])
        self.assertEqual(sorted(trace.ranges.name.tolist()), sorted(f"name {i}" for i in range(5000)))

    def test_a_path_is_not_a_number(self):
        for wrong in (0, 3, None, 2.5):  # 0 would be the standard input
            with self.assertRaises(TypeError):
                kymo.open(wrong)

    def test_files_that_are_not_traces(self):
        with self.assertRaises(FileNotFoundError):
            kymo.open(os.path.join(self.folder.name, "nothing.kymo"))
        with self.assertRaises(IsADirectoryError):
            kymo.open(self.folder.name)
        for content in (b"", b"text", b"\x93KYMO\r\n\x1a", b"\x93KYMO\r\n\x1a" + bytes(500), b"{"):
            path = os.path.join(self.folder.name, "broken")
            with open(path, "wb") as file:
                file.write(content)
            with self.assertRaises(kymo.Error, msg=repr(content)):
                kymo.open(path)
        for wrong in (None, 3.5, [], object()):
            with self.assertRaises(TypeError):
                kymo.open(wrong)

    def test_damage_is_reported(self):
        with open(self.path, "rb") as file:
            content = bytearray(file.read())
        path = os.path.join(self.folder.name, "damaged.kymo")
        found = 0
        for position in range(200, len(content), len(content) // 25):
            content[position] ^= 0xFF
            with open(path, "wb") as file:
                file.write(content)
            content[position] ^= 0xFF
            with contextlib.suppress(kymo.Error):
                trace = kymo.open(path)
                self.assertLessEqual(len(trace.ranges.start_ns), 100)
                self.assertEqual(len(trace.ranges.start_ns), len(trace.ranges.duration_ns))
                trace.ranges.name, trace.durations("load"), trace.stats()
                found += bool(trace.problems)
        self.assertGreater(found, 0)

    def test_damaged_events_are_a_problem_for_whatever_reads_them(self):
        path = os.path.join(self.folder.name, "damaged events.kymo")
        with kymo.Session(path):
            for _ in range(2000):
                kymo.nvtx.range_push("load")
                kymo.nvtx.range_pop()
        with open(path, "rb+") as file:
            content = file.read()
            file.seek(len(content) // 2)
            file.write(bytes([content[len(content) // 2] ^ 0xFF]))
        for read in (lambda trace: trace.query("SELECT * FROM ranges"), lambda trace: trace.report(),
                     lambda trace: trace.ranges.start_ns, lambda trace: trace.durations("load"),
                     lambda trace: (trace.report(), trace.query("SELECT 1 FROM ranges"), trace.ranges.name, trace.stats())):
            trace = kymo.open(path)
            self.assertEqual(trace.problems, [])
            read(trace)
            self.assertEqual(len(trace.problems), 1, trace.problems)
            self.assertRegex(trace.problems[0], "^.*damaged events.kymo: the chunk at [0-9]+ cannot be read: its hash is")
        self.assertEqual(len(trace.ranges), len(trace.ranges.start_ns))

    def test_a_closed_trace(self):
        with kymo.open(self.path) as trace:
            self.assertFalse(trace.closed)
        self.assertTrue(trace.closed)
        trace.close()
        for call in (trace.stats, trace.report, lambda: trace.durations("x"), lambda: trace.ranges.start_ns,
                     lambda: trace.query("SELECT 1"), lambda: trace.names, lambda: trace.tracks):
            with self.assertRaisesRegex(ValueError, r"the trace '.*run.kymo' is closed: open it again with kymo.open\('"):
                call()
        self.assertIn("closed", repr(trace))
        for call in (lambda: len(trace.ranges), lambda: trace.ranges.name, lambda: trace.counts):
            with self.assertRaisesRegex(ValueError, "is closed: open it again"):
                call()

    def test_columns_stay_after_the_trace_is_closed(self):
        with kymo.open(self.path) as trace:
            names = trace.ranges.name
        self.assertIs(trace.ranges.name, names)
        with self.assertRaisesRegex(ValueError, "is closed"):
            trace.ranges.start_ns

    def test_every_loss_is_a_problem(self):
        path = os.path.join(self.folder.name, "truncated.json")
        event = '{"ph": "X", "name": "load", "ts": 0, "dur": 2.5, "pid": 1, "tid": 1}'
        with open(path, "w") as file:
            file.write(f'[{event}, {event[:30]}')
        trace = kymo.open(path)
        self.assertEqual(len(trace.problems), 1)
        self.assertIn("the end of the file, which is truncated", trace.problems[0])
        lost = os.path.join(self.folder.name, "lost.kymo")
        with kymo.Session(lost):
            kymo.nvtx.range_pop()
            kymo.nvtx.range_end(12345)
        problems = kymo.open(lost).problems
        self.assertEqual(len(problems), 2, problems)
        self.assertTrue([line for line in problems if "without a push" in line], problems)
        self.assertEqual(kymo.open(self.path).problems, [])
        with open(self.path, "rb") as file:
            content = file.read()
        with open(lost, "wb") as file:
            file.write(content[:len(content) * 2 // 3])
        self.assertTrue(kymo.open(lost).problems)

    def test_events_of_dead_and_of_live_processes(self):
        path = os.path.join(self.folder.name, "killed.kymo")
        code = """
import os, signal
from kymo import nvtx
for _ in range(5):
    nvtx.range_push("load")
    nvtx.range_pop()
nvtx.range_push("open")
os.kill(os.getpid(), signal.SIGKILL)"""
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "KYMO_TRACE": path})
        trace = kymo.open(path)
        self.assertEqual(len(trace.durations("load")), 5)
        self.assertEqual(trace.ranges.name[~trace.ranges.finished].tolist(), ["open"])
        self.assertEqual(trace.problems, [])
        live = os.path.join(self.folder.name, "live.kymo")
        with kymo.Session(live):
            self.assertEqual(kymo.open(live).problems,
                             ["1 process still records into this file: later events are not shown"])
        self.assertEqual(kymo.open(live).problems, [])

    def test_a_recording_of_samples_goes_on(self):
        path = os.path.join(self.folder.name, "samples.kymo")
        recorder = subprocess.Popen([command.find(), "record", "--quiet", "-o", path, "--", "sh", "-c", "while :; do :; done"],
                                    env={key: value for key, value in os.environ.items() if key != "KYMO_TRACE"})
        try:
            problems = None
            while problems is None and recorder.poll() is None:
                with contextlib.suppress(OSError, kymo.Error):  # it may not have begun the file
                    problems = kymo.open(path).problems
            self.assertEqual(problems, ["1 process still records into this file: later events are not shown"])
        finally:
            recorder.terminate()
            recorder.wait()
        self.assertEqual(kymo.open(path).problems, [])

    def test_a_process_with_two_writers_is_one_process(self):
        if SANITIZED:
            self.skipTest("kymo record does not give AddressSanitizer's library to the interpreter")
        path = os.path.join(self.folder.name, "sampled.kymo")
        command.run("record", "-o", path, "--", sys.executable, "-c",
                    "import kymo\nwith kymo.nvtx.range('x'): sum(range(10**6))")
        trace = kymo.open(path)
        self.assertEqual(trace.counts["processes"], 1)
        self.assertIn("1 range, 1 process>", repr(trace))

    def test_a_path_that_looks_like_an_option(self):
        before = os.getcwd()
        os.chdir(self.folder.name)
        try:
            with open("-o.json", "w") as file:
                file.write('[{"ph": "X", "name": "load", "ts": 0, "dur": 2.5, "pid": 1, "tid": 1}]')
            self.assertEqual(kymo.open("-o.json").durations("load").tolist(), [2500])
        finally:
            os.chdir(before)

    def test_without_pandas_and_arrow(self):
        trace = kymo.open(self.path)
        for module, calls in (("pandas", (trace.to_pandas, trace.stats().to_pandas)),
                              ("pyarrow", (trace.to_arrow, trace.stats().to_arrow))):
            try:
                __import__(module)
            except ImportError:
                for call in calls:
                    with self.assertRaisesRegex(ImportError, module):
                        call()
            else:
                self.assertEqual(len(calls[0]()), 100)
                self.assertGreater(len(calls[1]()), 0)

    def test_a_frame_of_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed: scripts/install-deps test")
        trace = kymo.open(self.path)
        frame = trace.to_pandas()
        self.assertEqual(list(frame.columns), ["start_ns", "duration_ns", "name", "depth", "track",
                                               "across_threads", "finished"])
        self.assertIsInstance(frame.name.dtype, pandas.CategoricalDtype)
        self.assertEqual(frame[frame.name == "load"].duration_ns.tolist(), trace.durations("load").tolist())
        totals = frame.groupby("name", observed=True).duration_ns.sum().to_dict()
        self.assertEqual(totals, {name: trace.durations(name).sum() for name in totals})
        self.assertEqual(trace.stats().to_pandas()["count"].sum(), len(frame))
        trace.close()
        self.assertEqual(len(frame), 100)
        self.assertGreaterEqual(frame.duration_ns.min(), 0)

    def test_threads_read_one_trace(self):
        trace = kymo.open(self.path)
        wanted = trace.durations("load").tolist()
        results = []
        threads = [threading.Thread(target=lambda: results.append(trace.durations("load").tolist())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [wanted] * 8)

    @unittest.skipIf(SANITIZED, "AddressSanitizer keeps freed memory")
    def test_memory_stays_flat(self):
        def work(count):
            for _ in range(count):
                trace = kymo.open(self.path)
                trace.durations("load"), trace.ranges.start_ns, trace.ranges.name, trace.stats(), trace.tracks
                with contextlib.suppress(TypeError):
                    trace.durations(None)

        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        work(100)
        before = resident()
        work(400)
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
