#!/usr/bin/env python3
"""How fast `kymo push` and `kymo fleet` are with a real ClickHouse server on this machine.

  KYMO_BINARY_DIR=build/release python3 bench/fleet.py [push|questions|scale|folder]...

push       1,000 traces of 10 iterations with 100 names each
questions  two jobs of 10,240 traces, each with a million rows of operations and 200,000 waits, made by SQL
scale      a job of 512 ranks, recorded hourly for KYMO_FLEET_DAYS (30), beside KYMO_FLEET_JOBS (3) others like it
folder     the traces of push into a folder of Parquet files, without a server; the questions, with ten times the rows
"""
import concurrent.futures
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "fleet"))
import clickhouse  # noqa: E402
from clickhouse import KYMO, kymo, visible, write_trace  # noqa: E402

TRACES = int(os.environ.get("KYMO_FLEET_TRACES", "1000"))
ROUNDS = 3
GENERATED = 10_240  # traces, with 10 iterations of 100 names; whole runs of 64 ranks


def timed(*command):
    """Wall and processor seconds of a command."""
    start = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, command
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def processor_seconds(servers):
    total = 0
    for server in servers:
        fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def make_traces(folder):
    def make(i):
        source = write_trace(folder / f"{i}.json", rank=i, names=97, at_us=int(time.time() * 1e6) - i * 60_000_000)
        kymo("import", source, "-o", folder / f"{i}.kymo")
        os.remove(source)
        return folder / f"{i}.kymo"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(make, range(TRACES)))


def push(folder):
    files = make_traces(folder)
    with clickhouse.Server(folder / "server") as server:
        wall, cpu, memory = timed(KYMO, "push", *files, server.url(), "-q", "--job", "train")
        rows = visible(server, "operations")
        print(f"push: {TRACES} traces, {rows:,} rows of operations in {wall:.1f} s: {TRACES / wall * 60:,.0f} traces a "
              f"minute, {cpu:.1f} s of processor, {memory:.0f} MB")
        wall, cpu, _ = timed(KYMO, "push", *files, server.url(), "-q", "--job", "train")
        print(f"push again: {wall:.1f} s")
        for table in ["iterations", "operations", "device_time", "traces"]:
            size, count = server.rows(f"SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND "
                                      f"database = 'kymo' AND table = '{table}'")[0]
            print(f"  {table}: {int(size) / int(count):.1f} bytes a row, {int(size) / TRACES:,.0f} bytes a trace")


# Of each table: how many rows a trace has, and the columns after `job`. `i` is the number of the trace.
ITERATION = "intDiv(number % {rows}, {per_iteration}) + 10 * intDiv({i}, {ranks}) AS iteration, 1"
RUN = "concat('SLURM_JOB_ID=', toString(intDiv({i}, 10 * {ranks})))"
WALL = "100000 + cityHash64({n}) % 1000"  # of an iteration
FILL = {
    "operations": (100, "{i} % {ranks}, concat('op', toString(number % 100)), number % 2, "
                   "if(number % 100 = 1, 'communication', 'compute'), 30, 10000 + rand() % 1000, 5000 + rand() % 1000, 1, "
                   "2, 3, 4 + rand() % 100"),
    "waits": (20, "{i} % {ranks}, " + ITERATION + ", toUnixTimestamp(started) * 1000000000, 100000 + rand() % 1000, " + RUN +
              ", if(number % 2 = 0, concat('tp', toString(intDiv({i} % {ranks}, 8))), 'dp'), if(number % 2 = 0, 8, {ranks}), "
              "50, 25000 + rand() % 1000, -1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', concat('node', "
              "toString(intDiv({i} % {ranks}, 8)))"),
    "iterations": (10, "{i} % {ranks}, " + ITERATION + ", toUnixTimestamp(started) * 1000000000, " + WALL.format(n="number")),
    "device_time": (4, "{i} % {ranks}, 'GPU', arrayElement(['compute', 'communication', 'copies', 'idle: other'], 1 + number % "
                    "4), 200000 + rand() % 1000"),
    "traces": (1, "{i} % {ranks}, 1, 10, rand64(), " + RUN + ", 100000 + rand() % 1000, concat('node', "
               "toString(intDiv({i} % {ranks}, 8))), arraySum(one -> " + WALL.format(n="10 * {i} + one") + ", range(10))"),
}
# When a trace began, in seconds before now. The job of stragglers has runs of 64 ranks that begin together.
JOBS = {"train": "{i} * 60", "ranks": "intDiv({i}, 64) * 3600"}


def fill(server, traces, now, jobs=JOBS, ranks=64):
    for number, (job, age) in enumerate(jobs.items()):
        for table, (rows, columns) in FILL.items():
            words = {"i": f"intDiv(number, {rows})", "rows": rows, "per_iteration": max(rows // 10, 1), "ranks": ranks}
            names = ("(attempt, trace, started, job, rank, complete, iterations, recording, run, median_wall_ns, host, wall_ns)"
                     if table == "traces" else "")
            trace = f"cityHash64({words['i']} + {number * 10_000_000})"  # a host pushes the traces of 8 ranks together
            server.query(f"INSERT INTO kymo.{table} {names} SELECT cityHash64(intDiv({words['i']}, 8), {number}), {trace}, "
                         f"toDateTime({now}) - ({age.format(**words)}) AS started, '{job}' AS job, {columns.format(**words)} "
                         f"FROM numbers({rows * traces})")


def ask(place, url, servers, minutes, jobs={}, since="30d"):
    """The traces are a minute apart: the period of diff is half of them. `jobs` are those of questions about others."""
    for question in [["jobs"], ["top"], ["diff"], ["stragglers"], ["history"], ["history", "--operation", "op7"]]:
        times, own = [], []
        before = processor_seconds(servers)
        for _ in range(ROUNDS):
            wall, cpu, _ = timed(KYMO, "fleet", *question, "--db", url, *(["--job", jobs.get(question[0], "train")] if question != ["jobs"] else []), "--since",
                                 f"{minutes // 2}m" if question == ["diff"] else since)
            times.append(wall)
            own.append(cpu)
        spent = (processor_seconds(servers) - before) / ROUNDS
        print(f"{' '.join(question)}, {place}: median {statistics.median(times):.2f} s, longest {max(times):.2f} s; "
              f"processor: {spent:.2f} s in the servers, {statistics.median(own):.2f} s in kymo", flush=True)


def questions(folder):
    sample = write_trace(folder / "x.json")
    now = int(time.time())  # a trace began at one time, which is the same in all tables
    with clickhouse.Server(folder / "server") as server:
        kymo("push", sample, server.url(), "--job", "other")
        fill(server, GENERATED, now)
        ask("1 server", server.url(), [server], GENERATED, {"stragglers": "ranks"})


def scale(folder):
    days, others = int(os.environ.get("KYMO_FLEET_DAYS", "30")), int(os.environ.get("KYMO_FLEET_JOBS", "3"))
    now, traces = int(time.time()), 512 * 24 * days
    with clickhouse.Server(folder / "server") as server:
        kymo("push", write_trace(folder / "x.json"), server.url(), "--job", "other")
        began = time.monotonic()
        fill(server, traces, now, {f"train{i}": "intDiv({i}, 512) * 3600 + 60" for i in range(1 + others)}, 512)
        print(f"scale: {1 + others} jobs of {traces:,} traces, filled in {time.monotonic() - began:.0f} s", flush=True)
        for table, rows, size in server.rows("SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND "
                                             "database = 'kymo' GROUP BY table ORDER BY table"):
            print(f"  {table}: {int(rows):,} rows, {int(size) / 1e6:,.0f} MB")
        one = dict.fromkeys(["top", "diff", "stragglers", "history"], "train0")
        ask("1 day", server.url(), [server], 24 * 60, one, "1d")
        ask(f"{days} days", server.url(), [server], days * 24 * 60, one)
        began = time.monotonic()
        kymo("push", write_trace(folder / "y.json", rank=1, at_us=now * 1_000_000), server.url(), "--job", "other")
        print(f"push of one trace beside them: {time.monotonic() - began:.2f} s")


def parquet(folder):
    files, store = make_traces(folder), folder / "store"
    wall, cpu, memory = timed(KYMO, "push", *files, f"parquet:{store}", "-q", "--job", "train")
    size = sum(file.stat().st_size for file in store.glob("*/*/*.parquet"))
    print(f"push into a folder: {TRACES} traces in {wall:.1f} s, {cpu:.1f} s of processor, {memory:.0f} MB; {size / TRACES:,.0f} "
          f"bytes a trace, {len(list(store.glob('*/*/*.parquet')))} files")
    for table in ["operations", "iterations"]:  # ten times as many rows
        for file in list(store.glob(f"kymo-8/2*/{table}.parquet")):
            for copy in range(9):
                (file.parent.parent / f"{file.parent.name}{copy}").mkdir(exist_ok=True)
                shutil.copy(file, file.parent.parent / f"{file.parent.name}{copy}" / file.name)
    ask("folder", f"parquet:{store}", [], TRACES)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    for name in sys.argv[1:] or ["push", "questions", "folder"]:
        with tempfile.TemporaryDirectory(prefix="kymo-bench-") as temporary:
            {"push": push, "questions": questions, "scale": scale, "folder": parquet}[name](pathlib.Path(temporary))
