"""Which traces and operations `kymo fleet` is about, the same with a server and with a folder: jobs, names and times."""
import gzip
import json
import os
import time

from clickhouse import BIN, check_parts, kymo, write_trace

ONE_JOB = ["diff", "history"]
ODD_NAMES = ["a\\x41", "a\0b", "tab\there", "line\nbreak", "\x1b[31m", "C:\\x\\new", "größe", "gemm (device)", "\u202e", " spaces "]


class SameSelection:
    """For a TestCase with a `folder` for files, and a new and empty database at `url`."""

    def push_one(self, file, *more, age_s=60, **about):
        # Ages count from the first push: two ages that differ by a minute are two minutes, however long the pushes take.
        self.__dict__.setdefault("now_us", int(time.time() * 1e6))
        file = write_trace(self.folder / f"{self.id().rsplit('.', 1)[-1]}-{file}.json", steps=3, names=1,
                           at_us=self.now_us - age_s * 1_000_000, **about)
        return kymo("push", file, self.url, *more)[1]

    def test_diff_and_history_are_about_one_job(self):
        for i in range(4):
            self.push_one(f"a{i}", "--job", "fast", age_s=300 + 60 * i)
        text, _ = kymo("fleet", "history", "--db", self.url, "--since", "1h", expect=3)
        self.assertIn("4 samples, median 9.00 ms", text)
        for i in range(4):
            self.push_one(f"b{i}", "--job", "slow", age_s=300 + 60 * i, scale=2)
        for question in ONE_JOB:
            _, text = kymo("fleet", question, "--db", self.url, "--since", "1h", expect=2)
            self.assertIn(f"{question} is about one job, and there are several in this time: 'fast', 'slow'; choose one "
                          "with --job", text)
            _, text = kymo("fleet", question, "--db", self.url, "--sql", expect=2)
            self.assertIn("--sql needs --job", text)
        text, _ = kymo("fleet", "history", "--db", self.url, "--job", "slow", expect=3)
        self.assertIn("4 samples, median 18.0 ms", text)
        # Only jobs of this time count.
        self.push_one("old", "--job", "old", age_s=3 * 86_400)
        kymo("fleet", "history", "--db", self.url, "--since", "2d", expect=2)
        kymo("fleet", "top", "--db", self.url, "--since", "2d")

    def test_every_name_that_is_listed_can_be_asked_for(self):
        for i, name in enumerate(ODD_NAMES):
            self.push_one(f"odd{i}", "--job", f"job{i}", name=lambda _, name=name: name)
        rows = json.loads(kymo("fleet", "top", "--db", self.url, "--limit", 1000, "--json")[0])["rows"]
        self.assertGreaterEqual(len(rows), len(ODD_NAMES) + 2)
        table, _ = kymo("fleet", "top", "--db", self.url, "--limit", 1000)
        for row in rows:
            self.assertRegex(row["operation"], r"^[^\x00-\x1f\u202e]*$")
            self.assertIn(f"  {row['operation']}\n", table)
            job = f"job{ODD_NAMES.index(self.bytes_of(row['name']))}" if self.bytes_of(row["name"]) in ODD_NAMES else "job0"
            text, _ = kymo("fleet", "history", "--db", self.url, "--job", job, "--operation", row["operation"], expect=3)
            median = self.shown_ns(row["self_ns"] / row["calls"])
            self.assertIn(f"1 sample, median {median} per iteration", text, row)
        _, text = kymo("fleet", "history", "--db", self.url, "--job", "job0", "--operation", "", expect=3)
        self.assertIn("no operation ''", text)

    def bytes_of(self, text):
        parts = text.split("\\x")
        return parts[0] + "".join(chr(int(part[:2], 16)) + part[2:] if part[:2].isalnum() and part[:2].upper() == part[:2]
                                  and all(c in "0123456789ABCDEF" for c in part[:2]) and len(part) >= 2 else "\\x" + part
                                  for part in parts[1:])

    def shown_ns(self, ns):
        return f"{ns / 1e6:.2f} ms" if ns >= 1e6 else f"{ns / 1e3:.1f} µs" if ns < 1e5 else f"{ns / 1e3:.0f} µs"

    def test_a_job_with_any_name_can_be_asked_for(self):
        for i, job in enumerate([b"a\\x5Cx41", b"\xff\xfe", b"b\nc"]):
            self.push_one(f"job{i}", "--job", os.fsdecode(job), age_s=60 + i)
        _, text = kymo("fleet", "history", "--db", self.url, expect=2)
        for job in [r"a\x5Cx41", r"\xFF\xFE", r"b\x0Ac"]:
            self.assertIn(f"'{job}'", text)
            out, _ = kymo("fleet", "history", "--db", self.url, "--job", job, expect=3)
            self.assertIn("1 sample", out)

    def test_traces_of_the_future_and_without_a_time_are_named(self):
        self.push_one("now", "--job", "train", rank=0)
        self.push_one("ahead", "--job", "train", age_s=-86_400, rank=1, metadata={"hostname": "n1"})
        file = write_trace(self.folder / f"undated-{self.id().rsplit('.', 1)[-1]}.json", steps=3, names=1, at_us=1_000, rank=2)
        _, text = kymo("push", file, self.url, "--job", "train")
        self.assertIn("counts as of 1970, and kymo fleet finds it with --since 4000w", text)
        for question in ["top", "stragglers", "diff", "history"]:
            answer, text = kymo("fleet", question, "--db", self.url, "--job", "train", "--json", expect=None)
            self.assertRegex(text, r"not counted: 1 trace begins in the future: 0x[0-9a-f]{16} \(\S+ahead.json.*\), which began "
                                   "at 20.*; check the clock of the host")
            self.assertRegex(text, r"not counted: 1 trace does not say when it was recorded: 0x[0-9a-f]{16} \(\S+json.*\), "
                                   "which began at 1970.*; --since 4000w counts such traces as of 1970")
            self.assertEqual(["kymo: " + note for note in json.loads(answer)["notes"]], text.splitlines(), question)
        rows = json.loads(kymo("fleet", "top", "--db", self.url, "--job", "train", "--since", "4000w", "--json")[0])["rows"]
        self.assertEqual({row["traces"] for row in rows}, {2})
        # They are named for a job that has no others, too.
        kymo("push", write_trace(self.folder / "undated.json", steps=4, names=1, at_us=1_000_000), self.url, "--job", "undated")
        _, text = kymo("fleet", "top", "--db", self.url, "--job", "undated", expect=3)
        self.assertIn("does not say when it was recorded", text)
        self.assertNotIn("longer --since", text)

    def test_a_recording_counts_once_whatever_file_it_is_in(self):
        name = self.id().rsplit(".", 1)[-1]
        now = int(time.time() * 1e6)
        file = write_trace(self.folder / f"{name}.json", steps=3, names=1, at_us=now - 60_000_000)
        # As long, and with as many events.
        similar = write_trace(self.folder / f"{name}-similar.json", steps=3, names=1, at_us=now - 60_000_000, slow_collective=True)
        packed, imported = f"{file}.gz", f"{file}.kymo"
        with gzip.open(packed, "wb") as out, open(file, "rb") as source:
            out.write(source.read())
        kymo("import", file, "-o", imported)
        # Another recording of the same program.
        self.push_one("other", "--job", "train", age_s=61)
        kymo("push", file, packed, imported, similar, self.url, "--job", "train")
        for question in ["top", "history", "stragglers"]:
            answer, said = kymo("fleet", question, "--db", self.url, "--json", expect=None)
            self.assertIn("not counted: 2 traces, because another file of the same recording counts", said)
            if question == "top":
                self.assertEqual({row["traces"] for row in json.loads(answer)["rows"]}, {3})

    def test_a_part_of_a_recording_does_not_count(self):
        check_parts(self, self.url, self.folder)

    def test_an_export_of_a_recording_has_its_job_and_rank(self):
        name = self.id().rsplit(".", 1)[-1]
        recording, export = self.folder / f"{name}.kymo", self.folder / f"{name}.json"
        kymo("record", "-o", recording, "--", BIN / "any_bytes", env={"KYMO_JOB": "from the environment", "KYMO_RANK": "3"},
             expect=None)
        kymo("export", recording, "-o", export)
        kymo("push", export, self.url)
        rows = json.loads(kymo("fleet", "top", "--db", self.url, "--job", "from the environment", "--json")[0])["rows"]
        self.assertEqual({row["slowest_rank"] for row in rows}, {3})

    def test_top_says_how_much_work_is_outside_of_iterations(self):
        self.push_one("inside", "--job", "train", rank=0)
        self.assertEqual(kymo("fleet", "top", "--db", self.url)[1], "")
        now = int(time.time() * 1e6) - 120_000_000
        step = {"ph": "X", "cat": "user_annotation", "pid": 100, "tid": 100, "dur": 9_000}
        kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7}
        # What was launched in an iteration belongs to it, however late the device gets to it.
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": now + 2_000,
                  "dur": 5, "args": {"correlation": 7}}
        late = {**kernel, "name": "late", "tid": 8, "ts": now + 80_000, "dur": 3_000, "args": {"correlation": 7}}
        events = [launch, late] + [event for i in range(3) for event in [
            {**step, "name": f"ProfilerStep#{i}", "ts": now + i * 20_000},
            {**kernel, "name": "gemm", "ts": now + i * 20_000 + 1_000, "dur": 5_000},
            {**kernel, "name": "evaluate", "ts": now + i * 20_000 + 10_000, "dur": 8_000}]]
        file = self.folder / f"{self.id().rsplit('.', 1)[-1]}.json"
        file.write_text(json.dumps({"distributedInfo": {"rank": 1}, "traceEvents": events}))
        kymo("push", file, self.url, "--job", "train")
        answer, said = kymo("fleet", "top", "--db", self.url, "--json")
        note = "not counted: 24.0 ms of work on devices that was launched outside of iterations, in 1 trace"
        self.assertIn(note, said)
        self.assertIn(note, json.loads(answer)["notes"][0])
        self.assertNotIn("evaluate", answer)
        self.assertIn('"late"', answer)

    def test_a_trace_after_the_last_date_of_the_tables_is_refused(self):
        for year, at_us in [(2043, 2_310_000_000_000_000), (2110, 4_418_000_000_000_000),
                            (2302, 10_490_000_000_000_000), (9999, 253_370_000_000_000_000)]:
            file = write_trace(self.folder / f"{year}-{self.id().rsplit('.', 1)[-1]}.json", steps=3, names=1, at_us=at_us)
            _, text = kymo("push", file, self.url, "--job", "train", expect=1)
            self.assertIn("it begins on 2042-11-19 or later, which is after the last date of the tables; check the clock", text)

    def push_two_runs(self):
        """Run 'b' is slower by half. Both have the ranks 0 and 1, on hosts of their own."""
        for run, age_s, scale in [("a", 7_200, 1), ("b", 3_600, 1.5)]:
            for i in range(5):
                for rank in range(2):
                    self.push_one(f"{run}{i}-{rank}", "--job", "train", "-q", age_s=age_s - 60 * i, rank=rank,
                                  scale=scale * (1 + (i * 3 % 5 + rank) / 1000), first_step=1 + 3 * i, slow_collective=rank == 1,
                                  ranks=2, metadata={"host_name": f"node{rank}", "KYMO_RUN": run})

    def test_jobs_lists_the_runs_and_the_other_questions_take_them(self):
        self.push_two_runs()
        answer = json.loads(kymo("fleet", "jobs", "--db", self.url, "--json")[0])
        self.assertEqual([(row["job"], row["run"], row["traces"], row["ranks"], row["hosts"]) for row in answer["rows"]],
                         [("train", "b", 10, 2, 2), ("train", "a", 10, 2, 2)])
        for row, (age_s, scale) in zip(answer["rows"], [(3_600, 1.5), (7_200, 1)]):
            self.assertEqual((row["first"], row["last"]), (self.now_us // 10**6 - age_s, self.now_us // 10**6 - age_s + 240))
            self.assertAlmostEqual(row["iteration_ns"], 9e6 * scale, delta=1e5)
        text, _ = kymo("fleet", "jobs", "--db", self.url, "--run", "a")
        self.assertRegex(text, r"(?s)^iteration +ranks +hosts +traces +first trace +last trace +job +run\n *9\.0. ms +2 +2 +10 .* train +a\n$")

        def traces(*more, expect=0):
            rows = json.loads(kymo("fleet", "top", "--db", self.url, "--json", *more, expect=expect)[0])["rows"]
            return {row["traces"] for row in rows}

        for more, count in [([], 20), (["--run", "b"], 10), (["--run", "b", "--rank", 0], 5), (["--host", "node1"], 10),
                            (["--until", "5400s"], 10), (["--since", "5400s"], 10), (["--since", "3h", "--until", "5400s"], 10)]:
            self.assertEqual(traces(*more), {count}, more)
        _, said = kymo("fleet", "top", "--db", self.url, "--run", "c", expect=3)
        self.assertRegex(said, "no traces of this run, rank and host from .*; use a longer --since, or one of the latest jobs: 'train'")

    def test_diff_compares_two_runs(self):
        self.push_two_runs()
        answer = json.loads(kymo("fleet", "diff", "--db", self.url, "--run", "a", "--run", "b", "--json", "--fail-above", "10%",
                                 expect=1)[0])
        self.assertEqual((answer["a"], answer["b"], answer["iteration"]["change"]), (5, 5, "slower"))
        answer = json.loads(kymo("fleet", "diff", "--db", self.url, "--run", "b", "--run", "a", "--json", "--rank", 1)[0])
        self.assertEqual(answer["iteration"]["change"], "faster")
        _, said = kymo("fleet", "diff", "--db", self.url, "--run", "a", "--run", "c", expect=3)
        self.assertRegex(said, r"nothing to compare: A has [1-9]\d* samples? \(run 'a'\), B has 0 samples \(run 'c'\); 'kymo fleet jobs'")

    def test_stragglers_over_time(self):
        self.push_two_runs()
        since = ["stragglers", "--db", self.url, "--json", "--since", "1d"]
        [row] = json.loads(kymo("fleet", *since)[0])["rows"]
        self.assertNotIn("time", row)
        rows = json.loads(kymo("fleet", *since, "--every", "60s")[0])["rows"]
        self.assertEqual([(row["rank"], row["times_last"]) for row in rows], 10 * [(1, 3)])
        self.assertEqual([row["time"] // 60 for row in rows],
                         [(self.now_us // 10**6 - age + 60 * i) // 60 for age in (7_200, 3_600) for i in range(5)])
        for more, ranks in [(["--host", "node1"], [1]), (["--rank", 1], [1]), (["--rank", 0], []), (["--host", "node0"], [])]:
            rows = json.loads(kymo("fleet", *since, *more)[0])["rows"]
            self.assertEqual([row["rank"] for row in rows], ranks)
        for more in [["--host", "node9"], ["--rank", 9]]:  # a name that is misspelt is not a rank that is fine
            text, _ = kymo("fleet", *since, *more, "--fail-above", "2%", expect=3)
            answer = json.loads(text)
            self.assertEqual((answer["rows"], answer["exit_code"]), ([], 3))
            self.assertRegex(answer["notes"][0], "no traces of this run, rank and host from")

    def test_exports_beside_their_original_count_once(self):
        self.now_us = int(time.time() * 1e6)
        file = write_trace(self.folder / f"{self.id()}.json", steps=3, names=1, at_us=self.now_us - 60_000_000, rank=3,
                           metadata={"KYMO_JOB": "train", "host_name": "node1"})
        original = self.folder / f"{self.id()}.kymo"
        kymo("import", file, "-o", original)
        exports = [self.folder / f"{self.id()}-export.{ending}" for ending in ["json", "json.gz", "pftrace"]]
        for export in exports:
            kymo("export", original, "-o", export)
        kymo("push", original, *exports, file, self.url)
        text, said = kymo("fleet", "jobs", "--db", self.url, "--json")
        [row] = json.loads(text)["rows"]
        self.assertEqual((row["job"], row["traces"], row["ranks"], row["hosts"]), ("train", 1, 1, 1))
        self.assertRegex(said, "not counted: [34] traces, because another file of the same recording counts")
        for name in ["gemm", "aten::op0"]:
            rows = json.loads(kymo("fleet", "top", "--db", self.url, "--json")[0])["rows"]
            self.assertEqual([row["calls"] for row in rows if row["name"] == name], [3])

    def test_the_time_of_an_iteration_is_that_of_top(self):
        for i, scale in enumerate([1, 1, 1, 4]):
            self.push_one(f"scale{i}", "--job", "train", age_s=60 * (i + 1), scale=scale)
        [row] = json.loads(kymo("fleet", "jobs", "--db", self.url, "--json")[0])["rows"]
        rows = json.loads(kymo("fleet", "top", "--db", self.url, "--json")[0])["rows"]
        self.assertEqual(row["iteration_ns"], rows[-1]["mean_ns"])
        self.assertEqual(row["iteration_ns"], 9_000_000 * 7 // 4)

    def test_options_of_other_questions_are_refused(self):
        for more, text in [(["top", "--run", "a", "--run", "b"], "--run may be given once, and twice for diff"),
                           (["top", "--until", "8d"], "--until must be a shorter time than --since"),
                           (["top", "--every", "1h"], "--every is only for stragglers"),
                           (["jobs", "--fail-above", "1%"], "--fail-above is not for jobs and top"),
                           (["diff", "--run", "a", "--run", "a"], "--run A --run B compares two runs, and both are the same one"),
                           (["jobs", "--rank", "x"], "'x' is not a rank: write a whole number from 0")]:
            self.assertIn(text, kymo("fleet", *more, "--db", self.url, expect=2)[1])
        self.push_one("one", "--job", "train")
        for question in ONE_JOB:
            _, text = kymo("fleet", question, "--db", self.url, "--limit", 3, expect=2)
            self.assertIn("--limit is only for jobs, top and stragglers", text)
        for since in ["1.5d", "0.5w", "12h"]:
            kymo("fleet", "top", "--db", self.url, "--since", since)
        for since in ["0d", "1e3d", "nand", "-1d", "36501d", "1,5d"]:
            _, text = kymo("fleet", "top", "--db", self.url, "--since", since, expect=2)
            self.assertIn(f"'{since}' is not a time", text)
        kymo("fleet", "history", "--db", self.url, "--fail-above", 0, expect=3)
