"""Runs of a job, which `kymo fleet stragglers` must tell apart: the same answers from a server and from a folder."""
import json

from clickhouse import kymo, write_runs


class SameRuns:
    """For a TestCase that is also one of SameAnswers."""

    def test_only_the_newest_run_of_a_step_has_stragglers(self):
        folder = self.folder / "runs"
        folder.mkdir()
        kymo("push", *write_runs(folder, steps=4), self.url, "--job", "train", "-q")
        answer, _ = kymo("fleet", "stragglers", "--db", self.url, "--job", "train", "--json")
        [row] = json.loads(answer)["rows"]
        self.assertEqual((row["rank"], row["times_last"], row["others_waited_ns"]), (1, 4, 4 * 500_000))
        self.assertIn("not counted: older runs of job 'train', because ranks have the same iterations in a newer run",
                      json.loads(answer)["notes"])
        # Of the time of ranks 0 and 1 in this run, and of nothing else.
        self.assertAlmostEqual(row["share"], 0.5 / (2 * 9 * 1.002), delta=1e-6)

    def test_a_rank_of_another_run_or_with_a_wrong_clock_is_not_compared(self):
        # The job began again after a minute, and the trace of rank 1 is that of the first run.
        for age in [180, 120]:
            files = [self.collectives(f"again{age}-", rank, [("0, 1", [900, 100][rank], {})], age_s=age) for rank in range(2)]
            kymo("push", *(files if age == 180 else files[:1]), self.url)
        self.assert_nobody_is_named("2 iterations of job '', because .*: none of rank 1 of process group .*; push the traces")
        kymo("push", files[1], self.url)
        self.assertEqual(list(self.stragglers()[0]), [1])
        # The clock of one rank is an hour ahead of those of the others: it is the one that is named.
        files = [self.collectives("ahead", rank, [("0, 1, 2", [900, 100, 900][rank], {})],
                                  age_s=600 if rank == 1 else 4200) for rank in range(3)]
        kymo("push", *files, self.url, "--job", "ahead")
        _, errors = self.stragglers("--job", "ahead", expect=3)
        self.assertIn("none of ranks 0, 2 of process group", errors)

    def test_runs_within_a_trace_are_told_apart(self):
        # Rank 0 was late before the job began again, and rank 1 after it. Rank 2 was recorded only after it.
        late = [[("0, 1, 2", [100, 900, 900][rank], {})] for rank in range(3)]
        later = [[("0, 1, 2", [700, 200, 700][rank], {})] for rank in range(3)]
        kymo("push", *(self.collectives("within", rank, later[rank], runs=[late[rank]] if rank < 2 else [],
                                        age_s=60 if rank < 2 else 59.96) for rank in range(3)), self.url)
        rows, errors = self.stragglers()
        self.assertEqual({rank: (row["times_last"], row["others_waited_ns"]) for rank, row in rows.items()},
                         {1: (2, 2 * 2 * 500_000)})
        self.assertIn("not counted: older runs of job '', because ranks have the same iterations in a newer run", errors)

    def test_a_rank_that_has_only_an_earlier_run_within_a_trace_is_not_compared(self):
        late = [[("0, 1, 2", [900, 900, 100][rank], {})] for rank in range(3)]
        later = [[("0, 1, 2", [700, 200, 700][rank], {})] for rank in range(3)]
        kymo("push", *(self.collectives("earlier", rank, later[rank] if rank < 2 else late[rank],
                                        runs=[late[rank]] if rank < 2 else []) for rank in range(3)), self.url)
        self.assert_partial({1: (2 * 500_000, 2)}, "none of rank 2 of process group")

    def two_runs(self, apart_s, *, skip=(), metadata=None):
        """Pushes two runs of a job with the same steps. Rank 0 is late in the first one, rank 1 in the second one."""
        times = [[100, 900, 900], [700, 200, 700]]
        kymo("push", *(self.collectives(f"run{run}-", rank, [("0, 1, 2", times[run][rank], {})], age_s=60 - run * apart_s,
                                        metadata=metadata and metadata(run))
                       for run in range(2) for rank in range(3) if (run, rank) not in skip), self.url, "--job", "train")

    def test_runs_at_the_same_time_are_not_mixed(self):
        self.two_runs(0.005)
        self.assert_nobody_is_named("2 iterations of job 'train', because a rank has them in two traces at nearly the same "
                                    "time, .*KYMO_RUN")

    def test_runs_at_the_same_time_are_compared_apart_if_their_launcher_tells_them_apart(self):
        self.two_runs(0.005, metadata=lambda run: {"SLURM_JOB_NAME": "train", "SLURM_JOB_ID": str(4711 + run)})
        rows, errors = self.stragglers()
        self.assertEqual({rank: row["others_waited_ns"] for rank, row in rows.items()},
                         {0: 2 * 2 * 800_000, 1: 2 * 2 * 500_000})
        self.assertEqual(errors, "")

    def test_a_run_that_began_again_at_once_is_not_compared_with_the_one_before(self):
        # The new trace of rank 2 is missing. That of the old run is near enough for a clock that is a little wrong.
        self.two_runs(5, skip=[(1, 2)])
        self.assert_nobody_is_named("2 iterations of job 'train', because a rank has them in two traces")

    def test_a_run_that_began_again_later_is_not_compared_with_the_one_before(self):
        self.two_runs(30, skip=[(1, 2)])
        self.assert_partial({1: (2 * 500_000, 2)}, "none of rank 2 of process group")

    def test_traces_of_which_only_some_name_their_run_are_said(self):
        kymo("push", *(self.collectives("mixed", rank, [("0, 1", [900, 100][rank], {})],
                                        metadata={"KYMO_RUN": "a"} if rank else None) for rank in range(2)), self.url)
        self.assert_nobody_is_named("the calls of the ranks are different ones, as of different runs")
