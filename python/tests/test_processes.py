"""Recording Python programs from outside, and what a process may do meanwhile: fork, reload, end, interpreters."""
import os
import subprocess
import sys
import tempfile
import unittest

import kymo
from kymo import nvtx
from traces import KYMO, Trace, python


class EnvironmentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.kymo")

    def test_kymo_trace_records_a_script_that_imports_kymo(self):
        python("""
            import kymo
            assert kymo.is_recording()
            with kymo.nvtx.range("work"):
                pass
        """, env={"KYMO_TRACE": self.path})
        self.assertEqual(Trace(self.path).names(), ["work"])

    def test_kymo_record_records_a_script(self):
        subprocess.run([KYMO, "record", "--quiet", "--no-sample", "-o", self.path, "--", sys.executable, "-c",
                        "from kymo import nvtx\nwith nvtx.range('work'): pass"], check=True)
        self.assertEqual(Trace(self.path).names(), ["work"])

    def test_a_session_in_a_recorded_script_does_nothing(self):
        python("""
            import kymo, os, sys
            with kymo.Session(sys.argv[1]), kymo.nvtx.range("work"):
                pass
            assert not os.path.exists(sys.argv[1])
        """, self.path + ".other", env={"KYMO_TRACE": self.path})
        self.assertEqual(Trace(self.path).names(), ["work"])

    def test_a_forked_child_records_too(self):
        python("""
            import kymo, os, sys
            with kymo.Session(sys.argv[1]):
                with kymo.nvtx.range("parent"):
                    child = os.fork()
                    if child == 0:
                        with kymo.nvtx.range("child {}", 1):
                            pass
                        os._exit(0)
                    os.waitpid(child, 0)
        """, self.path)
        self.assertCountEqual(Trace(self.path).names(), ["parent", "child 1"])

    def test_multiprocessing(self):
        python("""
            import kymo, multiprocessing, sys
            def work(i):
                with kymo.nvtx.range("work {}", i):
                    return i
            if __name__ == "__main__":
                with kymo.Session(sys.argv[1]):
                    with multiprocessing.get_context("fork").Pool(2) as pool:
                        assert pool.map(work, range(4)) == [0, 1, 2, 3]
                        pool.close()
                        pool.join()
        """, self.path)
        self.assertEqual(sorted(Trace(self.path).names()), [f"work {i}" for i in range(4)])

    def test_what_was_recorded_survives_a_kill(self):
        done = python("""
            import kymo, os, signal, sys
            session = kymo.Session(sys.argv[1])
            with kymo.nvtx.range("work"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        """, self.path, check=False)
        self.assertEqual(done.returncode, -9)
        subprocess.run([KYMO, "recover"], capture_output=True)
        self.assertEqual(Trace(self.path).names(), ["work"])

    def test_an_interpreter_of_its_own_in_the_process(self):
        """Each interpreter has its module; one with its own GIL (3.12) refuses an extension of the limited API."""
        done = python("""
            import sys
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                import _interpreters as interpreters
            import kymo
            code = "import sys; sys.path = %r; from kymo import nvtx\\nwith nvtx.range('inside {}', 1): pass\\n" \\
                   "assert nvtx.range_push('x') == 0 and nvtx.range_pop() == 0" % (sys.path,)
            with kymo.Session(sys.argv[1]):
                for _ in range(3):
                    try:
                        other = interpreters.create(isolated=False)
                    except TypeError:
                        other = interpreters.create("legacy")
                    failed = interpreters.run_string(other, code)
                    assert not failed, failed
                    interpreters.destroy(other)
                with kymo.nvtx.range("outside"):
                    pass
        """, self.path)
        self.assertEqual(Trace(self.path).names(), ["inside 1", "x"] * 3 + ["outside"], done.stderr)


class OtherCodeTest(unittest.TestCase):
    """Python beside C++ code in the same process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.kymo")

    def library(self, name):
        path = KYMO.parent / f"{name}.so"
        if not path.exists():
            self.skipTest(f"{path} is not built")
        return str(path)

    def test_depths_and_ranges_are_shared_with_libraries_that_use_kymo(self):
        for name in ("plugin_shared", "plugin_one"):  # with libkymo.so, and with a copy of their own
            with self.subTest(name):
                python("""
                    import ctypes, sys, kymo
                    library = ctypes.CDLL(sys.argv[2])
                    with kymo.Session(sys.argv[1]):
                        assert library.plugin_is_recording()
                        with kymo.nvtx.range("python {}", 1):
                            assert library.plugin_push(b"inside") == 1
                            assert kymo.nvtx.range_push("innermost") == 2
                            assert kymo.nvtx.range_pop() == 2
                            assert library.plugin_pop() == 1
                """, self.path, self.library(name))
                self.assertEqual(Trace(self.path).names(), ["python 1", "inside", "innermost"])

    def test_the_injected_library_records_beside_the_package(self):
        library = self.library("nvtx_plugin_one")
        code = ("import ctypes, sys; from kymo import nvtx; library = ctypes.CDLL(sys.argv[1])\n"
                "with nvtx.range('python {}', 1):\n    library.plugin_push(b'by nvtx'); library.plugin_pop()")
        done = subprocess.run([KYMO, "record", "--no-sample", "--python", "-o", self.path, "--", sys.executable, "-c", code,
                               library], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = Trace(self.path).names()
        self.assertIn("python 1", names)
        self.assertIn("by nvtx", names)


class SessionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.kymo")

    def test_is_recording(self):
        self.assertFalse(kymo.is_recording())
        with kymo.Session(self.path) as session:
            self.assertTrue(kymo.is_recording())
            self.assertFalse(session.closed)
        self.assertTrue(session.closed)
        self.assertEqual(session.path, self.path)
        self.assertFalse(kymo.is_recording())
        session.close()
        with self.assertRaisesRegex(kymo.Error, "this session is closed"):
            session.__enter__()

    def test_a_second_session_is_an_error(self):
        with kymo.Session(self.path):
            with self.assertRaisesRegex(kymo.Error, "session"):
                kymo.Session(self.path + "2")

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(kymo.InvalidArgument, 'policy is "wait"; use "block", "drop" or "overwrite"'):
            kymo.Session(self.path, policy="wait")
        with self.assertRaises(ValueError):
            kymo.Session(self.path, ring_bytes=5)
        for name in ("ring_bytes", "flight_bytes"):
            with self.assertRaisesRegex(kymo.InvalidArgument, f"{name} is -5; it must be a number of bytes, 0 or more"):
                kymo.Session(self.path, **{name: -5})
            with self.assertRaisesRegex(TypeError, f"{name} must be int, not str"):
                kymo.Session(self.path, **{name: "5"})
        for call in (kymo.Session, kymo.dump):
            with self.assertRaisesRegex(kymo.InvalidArgument, "path is empty; give the file"):
                call("")
        with self.assertRaises(TypeError):
            kymo.Session(3.5)
        with self.assertRaises(TypeError):
            kymo.Session(self.path, nothing=1)
        with self.assertRaisesRegex(kymo.Error, "run.kymo/inner.kymo"):
            kymo.Session(self.path + "/inner.kymo")
        with self.assertRaises(kymo.Error):
            kymo.dump(self.path)  # no flight recorder runs

    def test_a_flight_recorder(self):
        with kymo.Session(self.path, flight_seconds=60.0):
            with nvtx.range("early"):
                pass
            kymo.dump(self.path + ".dump")
            for own in (self.path, os.path.relpath(self.path)):
                with self.assertRaisesRegex(kymo.InvalidArgument, "is the file of the session, .* dump to another one"):
                    kymo.dump(own)
        self.assertEqual(Trace(self.path + ".dump").names(), ["early"])
        self.assertEqual(Trace(self.path).names(), ["early"])

    def test_a_session_of_a_recorded_process_warns(self):
        done = python("""
            import kymo, sys
            with kymo.Session(sys.argv[1]), kymo.nvtx.range("work"):
                pass
            assert kymo._annotate.session_path() is None
        """, self.path, env={"KYMO_TRACE": self.path + ".outer"})
        self.assertRegex(done.stderr, "RuntimeWarning: .*run.kymo.* does nothing, .* kymo record or KYMO_TRACE records")
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(Trace(self.path + ".outer").names(), ["work"])

    def test_an_error_at_the_end_of_the_interpreter_has_its_text(self):
        done = python("""
            import kymo, os, sys
            session = kymo.Session(sys.argv[1])
            os.remove(sys.argv[1])
        """, self.path)
        self.assertRegex(done.stderr, "run.kymo")
        self.assertNotIn("ModuleNotFoundError", done.stderr)

    def test_counters_and_thread_names(self):
        with kymo.Session(self.path):
            kymo.set_thread_name("chief")
            kymo.counter("queue", 3)
            kymo.counter("load", 0.5)
        trace = Trace(self.path)
        self.assertIn("chief", trace.thread_names())
        self.assertEqual([event["name"] for event in trace.events if event["ph"] == "C"], ["queue", "load"])


class ReloadTest(unittest.TestCase):
    def test_modules_can_be_reloaded_and_imported_again(self):
        python("""
            import gc, importlib, sys
            import kymo
            for _ in range(20):
                kept = kymo.nvtx.range("x {}", [1])
                importlib.reload(kymo.nvtx)
                importlib.reload(kymo)
                for name in [name for name in sys.modules if name.split(".")[0] == "kymo"]:
                    del sys.modules[name]
                import kymo
                with kept, kymo.nvtx.range("y"):
                    pass
                del kept
                gc.collect()
        """)

    def test_a_range_may_outlive_everything(self):
        python("""
            import kymo, sys
            sys.modules["kept"] = kymo.nvtx.range("x {}", kymo)
            class Last:
                def __del__(self, range=kymo.nvtx.range):
                    with range("last {}", 1):
                        pass
            sys.last = Last()
        """)


if __name__ == "__main__":
    unittest.main()
