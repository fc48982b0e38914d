"""Answers of `kymo fleet` that must be the same from a server and from a folder."""
import json
import time

from clickhouse import kymo, write_trace


class SameAnswers:
    """For a TestCase with a `folder` for files, and a new and empty database at `url`."""

    def test_ranks_of_different_jobs_are_different(self):
        now = int(time.time() * 1e6)
        for job in ["a", "b"]:
            files = [write_trace(self.folder / f"job-{job}{rank}.json", at_us=now - 60_000_000, rank=rank, steps=3,
                                 names=2 if job == "a" else 3, slow_collective=rank == 1) for rank in range(2)]
            kymo("push", *files, self.url, "--job", job)
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--json")
        rows = json.loads(text)["rows"]
        self.assertEqual([(row["job"], row["rank"], row["times_last"]) for row in rows], [("a", 1, 3), ("b", 1, 3)])
        # Of equal ones the first is shown.
        self.assertEqual([row["worst_iteration"] for row in rows], [1, 1])
        self.assertAlmostEqual(rows[0]["share"], 0.5 / (2 * 9), delta=1e-6)
        text, _ = kymo("fleet", "stragglers", "--db", self.url)
        self.assertRegex(text.splitlines()[0], "job$")
        text, _ = kymo("fleet", "stragglers", "--db", self.url, "--job", "a")
        self.assertNotIn("job", text)

    def test_ranks_for_which_nobody_waits_are_not_stragglers(self):
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"equal{rank}.json", at_us=now - 60_000_000, rank=rank, steps=3)
                 for rank in range(2)]
        kymo("push", *files, self.url)
        text, errors = kymo("fleet", "stragglers", "--db", self.url, "--json")
        self.assertEqual(json.loads(text)["rows"], [])
        self.assertIn("no rank makes others wait", errors)

    def test_history_of_a_name_that_host_and_device_have(self):
        now = int(time.time() * 1e6)
        file = write_trace(self.folder / "both.json", at_us=now - 60_000_000, steps=3, names=1, name=lambda _: "gemm")
        kymo("push", file, self.url)
        for name, median in [("gemm", "15.0 µs"), ("gemm (device)", "1.00 ms")]:
            text, _ = kymo("fleet", "history", "--db", self.url, "--operation", name, expect=3)
            self.assertIn("1 sample, median " + median, text)
