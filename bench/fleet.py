#!/usr/bin/env python3
"""How fast `kymo push` and `kymo fleet` are with a real ClickHouse server on this machine.

  KYMO_BINARY_DIR=build/release python3 bench/fleet.py [push|events|questions|folder]...

push       1,000 traces of 10 iterations with 100 names each
events     one trace with 3 million ranges; the floor is reading it with `kymo stats`
questions  two jobs of 10,240 traces, each with 10 million rows of operations and as many calls of collectives, made by
           SQL
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

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
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
ITERATION = "intDiv(number % {rows}, {per_iteration}) + 10 * intDiv({i}, 64) AS iteration, 1"
GROUP = "if(number % 2 = 0, concat('tp', toString(intDiv({i} % 64, 8))), 'dp')"
FILL = {
    "operations": (1000, "{i} % 64, " + ITERATION + ", concat('op', toString(number % 100)), number % 2, "
                   "if(number % 100 = 1, 'communication', 'compute'), 3, 1000 + rand() % 1000, 500 + rand() % 1000, 1, 2, "
                   "3, 4 + rand() % 100"),
    "waits": (20, "{i} % 64, " + ITERATION + ", toUnixTimestamp(started) * 1000000000, 100000 + rand() % 1000, "
              "concat('SLURM_JOB_ID=', toString(intDiv({i}, 640))), " + GROUP + ", if(number % 2 = 0, 8, 64), 0, 50, -1, "
              "25000 + rand() % 1000, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'"),
    "iterations": (10, "{i} % 64, " + ITERATION + ", toUnixTimestamp(started) * 1000000000, 100000 + rand() % 1000"),
    "traces": (1, "{i} % 64, 1, 10, rand64(), concat('SLURM_JOB_ID=', toString(intDiv({i}, 640)))"),
}
# When a trace began, in seconds before now. The job of stragglers has runs of 64 ranks that begin together.
JOBS = {"train": "{i} * 60", "ranks": "intDiv({i}, 64) * 3600"}


def fill(server, traces, now):
    for number, (job, age) in enumerate(JOBS.items()):
        for table, (rows, columns) in FILL.items():
            words = {"i": f"intDiv(number, {rows})", "rows": rows, "per_iteration": max(rows // 10, 1)}
            names = "(trace, attempt, started, job, rank, complete, iterations, recording, run)" if table == "traces" else ""
            server.query(f"INSERT INTO kymo.{table} {names} SELECT {words['i']} + 1 + {number * 1_000_000}, 1, "
                         f"toDateTime({now}) - ({age.format(**words)}) AS started, '{job}' AS job, {columns.format(**words)} "
                         f"FROM numbers({rows * traces})")


def ask(place, url, servers, minutes, jobs={}):
    """The traces are a minute apart: the period of diff is half of them. `jobs` are those of questions about others."""
    for question in [["top"], ["diff"], ["stragglers"], ["history"], ["history", "--operation", "op7"]]:
        times, own = [], []
        before = processor_seconds(servers)
        for _ in range(ROUNDS):
            wall, cpu, _ = timed(KYMO, "fleet", *question, "--db", url, "--job", jobs.get(question[0], "train"), "--since",
                                 f"{minutes // 2}m" if question == ["diff"] else "30d")
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


def parquet(folder):
    files, store = make_traces(folder), folder / "store"
    wall, cpu, memory = timed(KYMO, "push", *files, f"parquet:{store}", "-q", "--job", "train")
    size = sum(file.stat().st_size for file in store.glob("*/*.parquet"))
    print(f"push into a folder: {TRACES} traces in {wall:.1f} s, {cpu:.1f} s of processor, {memory:.0f} MB; {size / TRACES:,.0f} "
          f"bytes a trace, {len(list(store.glob('*/*.parquet')))} files")
    for table in ["operations", "iterations"]:  # ten times as many rows
        for file in list((store / table).glob("2*.parquet")):
            for copy in range(9):
                shutil.copy(file, file.with_name(f"{file.stem}{copy}.parquet"))
    ask("folder", f"parquet:{store}", [], TRACES)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    for name in sys.argv[1:] or ["push", "questions", "folder"]:
        with tempfile.TemporaryDirectory(prefix="kymo-bench-") as temporary:
            {"push": push, "questions": questions, "folder": parquet}[name](pathlib.Path(temporary))
