"""Runs of a job, which `kymo fleet stragglers` must tell apart: the same answers from a server and from a folder."""
import json

from clickhouse import kymo, write_runs


class SameRuns:
    """For a TestCase that is also one of SameAnswers."""

    def test_runs_with_the_same_steps_are_compared_apart(self):
        folder = self.folder / "runs"
        folder.mkdir()
        kymo("push", *write_runs(folder, steps=4), self.url, "--job", "train", "-q")
        rows = {row["rank"]: row for row in self.rows_of_runs("--since", "4h")}
        self.assertEqual({rank: (row["times_last"], row["others_waited_ns"]) for rank, row in rows.items()},
                         {1: (4, 4 * 500_000)})
        # Of the time of ranks 0 and 1 in this run, and of nothing else.
        self.assertAlmostEqual(rows[1]["share"], 0.5 / (2 * 9 * 1.002), delta=1e-6)

    def rows_of_runs(self, *more):
        return json.loads(kymo("fleet", "stragglers", "--db", self.url, "--job", "train", "--json", *more)[0])["rows"]

    def test_every_hour_counts_although_the_job_began_again_with_the_same_steps(self):
        folder = self.folder / "again"
        folder.mkdir()
        kymo("push", *write_runs(folder, steps=4), self.url, "--job", "train", "-q")
        rows = self.rows_of_runs("--every", "1h")
        # Rank 0 made the others wait 30 h and 20 h ago, and rank 1 2 h ago.
        self.assertEqual([(row["rank"], row["others_waited_ns"]) for row in rows],
                         [(0, 4 * 2 * 500_000), (0, 4 * 500_000), (1, 4 * 500_000)])
        self.assertEqual([later["time"] - row["time"] for row, later in zip(rows, rows[1:])], [10 * 3600, 18 * 3600])

    def test_a_rank_of_another_run_is_not_compared(self):
        # The job began again after a minute, and the trace of rank 1 is that of the first run.
        for age in [180, 120]:
            files = [self.collectives(f"again{age}-", rank, [("0, 1", [900, 100][rank], {})], age_s=age) for rank in range(2)]
            kymo("push", *(files if age == 180 else files[:1]), self.url)
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["times_last"] for rank, row in rows.items()}, {1: 2})
        self.assertRegex(errors, "waits of 2 iterations of job '', because .*: rank 1 has fewer than 4 calls of process group")
        kymo("push", files[1], self.url)
        rows, errors = self.stragglers()
        self.assertEqual(({rank: row["times_last"] for rank, row in rows.items()}, errors), ({1: 4}, ""))

    def test_a_rank_with_a_wrong_clock_is_named_and_does_not_hide_the_others(self):
        # Rank 1 is late, and the clock of rank 3 is a minute or an hour ahead of those of the others.
        for ahead in [60, 3600]:
            files = [self.collectives(f"ahead{ahead}-", rank, [("0, 1, 2, 3", [900, 100, 900, 900][rank], {})],
                                      age_s=5000 + (1 if rank == 3 else 2) * ahead) for rank in range(4)]
            kymo("push", *files, self.url, "--job", f"ahead{ahead}")
            self.assert_partial({1: (2 * 2 * 800_000, 2)}, "rank 3 has them more than 10 s before or after the others of process "
                                r"group '0, 1, 2, 3 \[0, 1, 2, 3\]', by a wrong clock", "--job", f"ahead{ahead}")

    def test_waits_that_do_not_count_are_iterations_whatever_the_number_of_groups(self):
        files = [self.collectives("half", rank, [("0, 1", 900, {}), ("0, 1, 2, 3", 100, {})]) for rank in range(4)]
        kymo("push", files[0], self.url)
        self.assert_nobody_is_named("waits of 2 iterations of job ''")

    def test_runs_within_a_trace_that_are_not_far_apart_are_not_compared(self):
        late = [[("0, 1, 2", [100, 900, 900][rank], {})] for rank in range(3)]
        later = [[("0, 1, 2", [700, 200, 700][rank], {})] for rank in range(3)]
        kymo("push", *(self.collectives("within", rank, later[rank], runs=[late[rank]]) for rank in range(3)), self.url)
        self.assert_nobody_is_named("2 iterations of job '', because a rank has them more than once within 10 s: its recordings overlap, or there are runs .* set KYMO_RUN")

    def two_runs(self, apart_s, *, skip=(), metadata=None):
        """Pushes two runs of a job with the same steps. Rank 0 is late in the first one, rank 1 in the second one."""
        times = [[100, 900, 900], [700, 200, 700]]
        kymo("push", *(self.collectives(f"run{run}-", rank, [("0, 1, 2", times[run][rank], {})], age_s=60 - run * apart_s,
                                        metadata=metadata and metadata(run))
                       for run in range(2) for rank in range(3) if (run, rank) not in skip), self.url, "--job", "train")

    def test_runs_at_the_same_time_are_not_mixed(self):
        self.two_runs(0.005)
        self.assert_nobody_is_named("2 iterations of job 'train', because a rank has them more than once within 10 s: its recordings overlap, or there are runs .* set KYMO_RUN")
        # What the line says helps: each run in another database with its own job.
        for run in range(2):
            kymo("push", *sorted(self.folder.glob(f"run{run}-[0-9].json")), self.url + "2", "--job", f"train{run}")
        rows = json.loads(kymo("fleet", "stragglers", "--db", self.url + "2", "--json")[0])["rows"]
        self.assertEqual(sorted((row["job"], row["rank"]) for row in rows), [("train0", 0), ("train1", 1)])

    def test_runs_at_the_same_time_are_compared_apart_if_their_launcher_tells_them_apart(self):
        self.two_runs(0.005, metadata=lambda run: {"SLURM_JOB_NAME": "train", "SLURM_JOB_ID": str(4711 + run)})
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()},
                         {0: 2 * 2 * 800_000, 1: 2 * 2 * 500_000})
        self.assertEqual(errors, "")

    def test_a_run_that_began_again_at_once_is_not_compared_with_the_one_before(self):
        # The new trace of rank 2 is missing. That of the old run is near enough for a clock that is a little wrong.
        self.two_runs(5, skip=[(1, 2)])
        self.assert_nobody_is_named("2 iterations of job 'train', because a rank has them more than once")

    def test_a_run_that_began_again_later_is_not_compared_with_the_one_before(self):
        self.two_runs(30, skip=[(1, 2)])
        rows, errors = self.stragglers("--every", "15s")
        self.assertEqual({rank: (row["others_waited_ns"], row["partial_iterations"]) for rank, row in rows.items()},
                         {0: (2 * 2 * 800_000, 0), 1: (2 * 500_000, 2)})
        self.assertRegex(errors, "partial: .* rank 2 has fewer than 4 calls of process group")

    def test_traces_of_which_only_some_name_their_run_are_said(self):
        kymo("push", *(self.collectives("mixed", rank, [("0, 1", [900, 100][rank], {})],
                                        metadata={"KYMO_RUN": "a"} if rank else None) for rank in range(2)), self.url)
        self.assert_nobody_is_named("the calls of the ranks are different ones, as of different runs")
