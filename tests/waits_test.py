#!/usr/bin/env python3
"""`kymo record --with waits`: calls that block, and the locks that `kymo stats --by lock` shows."""

import json
import os
import pathlib
import unittest

from recorded_programs import BIN, Recorded


class WaitsTest(Recorded):
    def waits_of(self, *words, prefix=()):
        """Records a program, and returns the number of its ranges by name."""
        code, _, err = self.run_words(*prefix, BIN / "kymo", "record", "--no-sample", "--with", "waits", "-o",
                                      "run.kymo", "--", *words)
        self.assertEqual(code, 0, err)
        code, out, err = self.run_words(BIN / "kymo", "stats", "--strict", "--json", "run.kymo")
        self.assertEqual(code, 0, err)
        return {row["name"]: row["count"] for row in json.loads(out)["rows"]}

    def locks(self):
        code, out, err = self.run_words(BIN / "kymo", "stats", "--by", "lock", "--strict", "--json", "run.kymo")
        self.assertEqual(code, 0, err)
        return json.loads(out)["locks"]

    def test_every_kind_of_call_is_recorded(self):
        names = self.waits_of(BIN / "waits", "all")
        for kind in ("for mutex", "for read lock", "for write lock", "for condition", "for semaphore", "for thread",
                     "in sleep", "in poll", "in select", "in epoll", "in read"):
            self.assertGreaterEqual(names.get(f"wait {kind}", 0), 1, (kind, names))
        self.assertGreaterEqual(names["wait for condition"], 2)

    def test_lock_has_its_holder_and_the_function_in_which_it_was(self):
        self.waits_of(BIN / "waits", "lock")
        slow = self.locks()[0]
        self.assertEqual(slow["kind"], "mutex")
        self.assertEqual(slow["count"], 1)
        self.assertLessEqual(slow["max_ns"], slow["total_ns"])
        self.assertIn("log_result", slow["waiting"][0]["function"])
        self.assertEqual({place["thread"] for place in slow["holding"]}, {"holder"})
        # On a busy machine, where the holder is after its sleep is not known.
        self.assertTrue(any("write_line" in place.get("function", "") for place in slow["holding"]), slow)
        code, out, _ = self.run_words(BIN / "kymo", "stats", "--by", "lock", "run.kymo")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"mutex 0x.*log_result .*holder in .*write_line.* \d+ %")

    def test_mutex_that_another_thread_has_just_taken_is_recorded_once_there_was_contention(self):
        self.assertEqual(self.waits_of(BIN / "waits", "handover")["wait for mutex"], 2)

    def test_waits_that_have_not_ended_have_their_holders(self):
        for how in ("deadlock", "killed"):
            with self.subTest(how=how):
                self.run_words(BIN / "kymo", "record", "--no-sample", "--with", "waits", "-o", "run.kymo", "--",
                               BIN / "waits", how)
                code, out, err = self.run_words(BIN / "kymo", "stats", "--by", "lock", "--json", "run.kymo")
                self.assertEqual(code, 0, err)
                mutexes = [lock for lock in json.loads(out)["locks"] if lock["unfinished"]]
                self.assertEqual([lock["kind"] for lock in mutexes], ["mutex", "mutex"])
                holders = {lock["holding"][0]["thread"] for lock in mutexes}
                self.assertEqual(len(holders), 2, mutexes)
                _, out, _ = self.run_words(BIN / "kymo", "report", "run.kymo")
                self.assertRegex(out, "has not ended")
                (self.folder / "run.kymo").unlink()

    def test_report_names_the_lock_and_its_holder(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "--with", "waits", "-o", "run.kymo", "--",
                                      BIN / "waits", "lock")
        self.assertEqual(code, 0, err)
        if "no CPU samples" in err:
            self.skipTest("no samples here")
        _, out, _ = self.run_words(BIN / "kymo", "report", "run.kymo")
        self.assertRegex(out, r"waiting for a mutex, in .*log_result.*, which holder held in .*write_line")
        self.assertIn("kymo stats run.kymo --by lock", out)

    def test_cancelled_threads_unwind_through_a_wait(self):
        names = self.waits_of(BIN / "waits", "cancel")
        self.assertGreaterEqual(names["wait in sleep"], 4)

    def test_children_record_their_own_waits(self):
        self.waits_of(BIN / "waits", "fork")
        mutexes = [lock for lock in self.locks() if lock["kind"] == "mutex"]
        self.assertEqual(len({lock["pid"] for lock in mutexes}), 3, mutexes)

    def test_handlers_that_wait_interrupt_waits(self):
        self.assertGreaterEqual(self.waits_of(BIN / "waits", "handlers")["wait in sleep"], 300)

    def test_waits_before_main_and_in_destructors_do_not_disturb(self):
        self.assertGreaterEqual(self.waits_of(BIN / "waits")["wait in sleep"], 1)

    def test_with_other_allocators_and_the_heap(self):
        for library in pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"):
            with self.subTest(library=library.name):
                self.assertIn("wait for mutex", self.waits_of(BIN / "waits", "lock", prefix=("env", f"LD_PRELOAD={library}")))
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "--memory", "--with", "waits", "-o",
                                      "run.kymo", "--", BIN / "waits", "all")
        self.assertEqual(code, 0, err)
        self.assertTrue(self.locks())
        _, out, _ = self.run_words(BIN / "kymo", "memory", "--json", "run.kymo")
        self.assertGreater(json.loads(out)["peak_bytes"], 0)

    def test_programs_with_sanitizers(self):
        source = pathlib.Path(os.environ["KYMO_SOURCE_DIR"]) / "tests/unmodified/waits.cc"
        for sanitizer in ("address", "thread"):
            with self.subTest(sanitizer=sanitizer):
                code, _, _ = self.run_words(os.environ.get("CXX", "c++"), "-std=c++20", f"-fsanitize={sanitizer}",
                                            "-pthread", "-o", "sanitized", source)
                if code != 0 or self.run_words(self.folder / "sanitized")[0] != 0:
                    self.skipTest(f"no {sanitizer} sanitizer here")
                self.assertIn("wait for mutex", self.waits_of(self.folder / "sanitized", "all"))

    def test_without_waits_there_is_a_hint(self):
        code, _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", BIN / "waits")
        self.assertEqual(code, 0, err)
        _, out, _ = self.run_words(BIN / "kymo", "stats", "--by", "lock", "run.kymo")
        self.assertIn("kymo record --with waits", out)

    def test_doctor_knows_the_interface(self):
        _, out, _ = self.run_words(BIN / "kymo", "doctor")
        self.assertIn("calls that block", out)


if __name__ == "__main__":
    unittest.main()
