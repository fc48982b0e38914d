"""One question has one answer: counts, totals, self times, medians, bytes and kinds in every command that says them."""

import ctypes
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import urllib.request

from kit import BIN, Trace

FOLDER = BIN.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kymo"


class Truth:
    """What was put into the trace: the ranges by name, with the self time and the iteration of each."""

    def __init__(self, random):
        self.trace, self.ranges, self.walls = Trace(), {}, []
        self.bytes, self.kinds = 0, {}
        self.main, self.worker = self.trace.thread(1, 1, "main"), self.trace.thread(1, 2, "worker")
        self.stream = self.trace.stream(0, 7)
        now, self.random = 0, random
        for i, length in enumerate([10_000_000, 20_000_000]):
            self.walls.append(length)
            self.iteration(i, now, length)
            now += length + random.randrange(1, 500_000)
        self.trace.flow(5, self.main, 1_000, self.worker, 2_000)
        self.main.instant("mark", 3_000)
        for i in range(3):
            self.main.counter("depth", 4_000 + i, i)
        self.kinds = {"flow_begin": 1, "flow_end": 1, "instant": 1, "counter": 3}

    def add(self, name, length, own, iteration, on_device=False):
        self.ranges.setdefault((name, on_device), []).append((length, own, iteration))

    def iteration(self, number, begin, length):
        covered, time = 0, begin + 10_000
        for i in range(self.random.randrange(2, 8)):
            load = self.random.randrange(50_000, 600_000)
            inner = self.random.randrange(1_000, load // 2)
            self.main.range("load", time, time + load)
            self.main.range("decode", time + 100, time + 100 + inner)
            self.add("load", load, load - inner, number)
            self.add("decode", inner, inner, number)
            launched, correlation = time + load + 1_000, number * 100 + 2 * i + 1
            self.main.call("cudaLaunchKernel", launched, launched + 5_000, correlation)
            self.main.call("cudaMemcpyAsync", launched + 6_000, launched + 9_000, correlation + 1)
            self.add("cudaLaunchKernel", 5_000, 5_000, number)
            self.add("cudaMemcpyAsync", 3_000, 3_000, number)
            kernel, size = self.random.randrange(10_000, 40_000), self.random.randrange(1, 1 << 20)
            self.stream.work("gemm", launched + 10_000, launched + 10_000 + kernel, correlation)
            self.stream.work("Memcpy HtoD (Pageable -> Device)", launched + 60_000, launched + 70_000, correlation + 1,
                             cat="gpu_memcpy", bytes=size)
            self.add("gemm", kernel, kernel, number, on_device=True)
            self.add("Memcpy HtoD (Pageable -> Device)", 10_000, 10_000, number, on_device=True)
            self.bytes += size
            covered += load + 8_000
            time = launched + self.random.randrange(80_000, 300_000)
        self.main.range(f"step {number}", begin, begin + length)
        self.add(f"step {number}", length, length - covered, number)
        work = self.random.randrange(1_000_000, length)
        self.worker.range("work", begin + 5, begin + 5 + work)
        self.add("work", work, work, number)

    def rows(self, named=lambda name: name):
        """Count, total, self time and median by name."""
        all_ranges = {}
        for (name, on_device), ranges in self.ranges.items():
            all_ranges.setdefault((named(name), on_device), []).extend(ranges)
        return {key: (len(ranges), sum(r[0] for r in ranges), sum(r[1] for r in ranges),
                      statistics.median(r[0] for r in ranges)) for key, ranges in all_ranges.items()}


def compare(case, who, rows, truth):
    """Rows of a command: {(name, on_device): (count, total, self time, median)}; None is not compared."""
    case.equal(f"{who}: names", sorted(rows), sorted(truth))
    for key in rows.keys() & truth.keys():
        for what, got, want in zip(("count", "total", "self time", "median"), rows[key], truth[key]):
            if got is not None:
                case.true(f"{who}: {what} of {key[0]}: kymo says {got}, right is {want}", abs(got - want) <= 0.5)


def without_number(name):
    return re.sub(r"^step \d+$", "step {}", name)


def of_stats(rows):
    return {(row["name"], row.get("on_device", False)):
            (row["count"], row["total_ns"], row["self_ns"], row["median_ns"]) for row in rows}


def has_duckdb(path):
    done = subprocess.run([str(BIN / "kymo"), "query", str(path), "SELECT 1"], capture_output=True, text=True)
    return "DuckDB" not in done.stderr


def query(case, path, sql):
    return case.json("query", path, sql)


def check_query(case, path, truth):
    rows = query(case, path, "SELECT name, device IS NOT NULL AS on_device, count(*) AS count, sum(duration_ns) AS total,"
                             " sum(self_ns) AS self, median(duration_ns) AS median FROM ranges GROUP BY ALL")
    compare(case, "query", {(r["name"], r["on_device"]): (r["count"], r["total"], r["self"], r["median"]) for r in rows},
            truth.rows(without_number))
    rows = query(case, path, "SELECT DISTINCT full_name FROM ranges WHERE name = 'step {}' ORDER BY ALL")
    case.equal("query: full names", [r["full_name"] for r in rows], ["step 0", "step 1"])
    rows = query(case, path, "SELECT name, iteration, sum(duration_ns) AS total FROM ranges GROUP BY ALL")
    want = {}
    for (name, _), ranges in truth.ranges.items():
        for length, _, iteration in ranges:
            want[without_number(name), iteration] = want.get((without_number(name), iteration), 0) + length
    case.equal("query: totals by iteration", {(r["name"], r["iteration"]): r["total"] for r in rows}, want)
    rows = query(case, path, "SELECT child.name, min(parent.name) AS parent, count(*) AS count FROM ranges AS child"
                             " LEFT JOIN ranges AS parent ON child.parent = parent.id GROUP BY ALL")
    parents = {r["name"]: (r["parent"], r["count"]) for r in rows}
    inside = {"load": "step {}", "decode": "load", "cudaLaunchKernel": "step {}", "cudaMemcpyAsync": "step {}"}
    for (name, _), row in truth.rows(without_number).items():
        case.equal(f"query: the range around {name}", parents[name], (inside.get(name), row[0]))
    rows = query(case, path, "SELECT sum((args->>'bytes')::BIGINT) AS bytes FROM ranges")
    case.equal("query: bytes", int(rows[0]["bytes"]), truth.bytes)
    rows = query(case, path, "SELECT kind, count(*) AS count FROM events GROUP BY ALL")
    case.equal("query: kinds", {r["kind"]: r["count"] for r in rows}, truth.kinds)


def check_report(case, who, report, truth):
    iterations = report["iterations"]
    case.equal(f"{who}: iterations", [one["duration_ns"] for one in iterations["list"]], truth.walls)
    case.equal(f"{who}: median of an iteration", iterations["median_ns"], 15_000_000)
    main = {(row["name"], False): (row["count"], row["total_ns"], row["self_ns"], None) for row in report["host"]}
    want = {key: row for key, row in truth.rows(without_number).items() if not key[1] and key[0] != "work"}
    compare(case, f"{who}: host", main, want)
    operations = report["devices"][0]["longest"]
    want = {key: row for key, row in truth.rows().items() if key[1]}
    compare(case, f"{who}: device",
            {(row["name"], True): (row["count"], row["total_ns"], None, None) for row in operations}, want)
    case.equal(f"{who}: kinds", sorted(row["kind"] for row in operations), ["compute", "copy"])


def check_diff(case, path, truth):
    answer = case.json("diff", path, path)
    case.equal("diff: median of an iteration", answer["iteration"]["median_a_ns"], 15_000_000)
    sums = {}
    for (name, on_device), ranges in truth.ranges.items():
        for length, own, iteration in ranges:
            one = sums.setdefault((without_number(name), on_device), [0, 0])
            one[iteration] += length if on_device else own
    got = {(re.split("/| > ", row["path"])[-1], row["device"]): row["median_a_ns"] for row in answer["rows"]}
    want = {key: statistics.median(one) for key, one in sums.items() if key[0] != "work"}
    case.equal("diff: medians per iteration", got, want)


def check_python(case, path, truth):
    if not (FOLDER / "python/kymo/__init__.py").exists():
        return
    code = """
import json, kymo, sys
trace = kymo.open(sys.argv[1])
try:
    durations = sorted(map(int, trace.durations("load")))
except kymo.NotAvailable:  # NumPy
    durations = None
kinds = trace.query("SELECT kind, count(*) AS count FROM events GROUP BY ALL")
print(json.dumps([trace.stats(), trace.report(), durations, [dict(row) for row in kinds]]))
"""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER / "python"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=environment)
    if "ASan runtime" in done.stderr:  # the interpreter has none
        return
    case.true(f"Python: {done.stderr}", done.returncode == 0)
    stats, report, durations, kinds = json.loads(done.stdout)
    compare(case, "Python", of_stats(stats), truth.rows(without_number))
    check_report(case, "report() of Python", report, truth)
    if durations is not None:
        case.equal("Python: durations", durations, sorted(one[0] for one in truth.ranges["load", False]))
    case.equal("Python: kinds", {row["kind"]: row["count"] for row in kinds}, truth.kinds)


def parquet_rows(store, table):
    """The rows of a table in a folder of Kymo, read by DuckDB itself."""
    library = ctypes.CDLL(os.environ.get("KYMO_DUCKDB_LIBRARY") or str(max(CACHE.glob("duckdb-*/libduckdb.so"))))
    database, connection = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.duckdb_open(None, ctypes.byref(database)) == 0
    assert library.duckdb_connect(database, ctypes.byref(connection)) == 0
    into = store.parent / f"{table}.json"
    statement = f"COPY (SELECT * FROM read_parquet('{store}/kymo-*/*/{table}.parquet')) TO '{into}'"
    assert library.duckdb_query(connection, statement.encode(), None) == 0
    return [json.loads(line) for line in into.read_text().splitlines()]


def check_push(case, path, truth):
    if not (FOLDER / "libexec/kymo/kymo-fleet").exists():
        return
    tables = case.folder / "tables"
    case.run("push", path, f"parquet:{tables}", "--quiet")
    case.equal("push: iterations", sorted(row["wall_ns"] for row in parquet_rows(tables, "iterations")), truth.walls)
    got = {}
    for row in parquet_rows(tables, "operations"):
        one = got.setdefault((row["name"], bool(row["on_device"])), [0, 0, 0, None])
        for i, field in enumerate(("count", "total_ns", "self_ns")):
            one[i] += row[field]
    want = {key: row for key, row in truth.rows(without_number).items() if key[0] != "work"}
    compare(case, "push", got, want)


def check_view(case, path, truth):
    if not (FOLDER / "libexec/kymo/kymo-view").exists():
        return
    server = subprocess.Popen([str(BIN / "kymo"), "view", str(path), "--no-browser"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip()

        def ask(what):
            with urllib.request.urlopen(f"{address}api/{what}", timeout=60) as answer:
                return json.load(answer)

        trace = ask("trace")
        tracks = ",".join(str(track["id"]) for track in trace["tracks"] if track["kind"] != "counter")
        chosen = ask(f"selection?from=0&to={trace['files'][0]['duration_ns'] + 1}&tracks={tracks}")
        compare(case, "view", of_stats(chosen["ranges"]), truth.rows(without_number))
        check_report(case, "report of view", ask("report?file=0"), truth)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def check_flame(case, path, truth):
    sums = {}
    for frame in case.json("flame", path)["frames"]:
        if frame["kind"] in ("range", "work"):
            one = sums.setdefault((frame["name"], frame["kind"] == "work"), [0, None, 0, None])
            one[0] += frame["count"]
            one[2] += frame["self_ns"]
    compare(case, "flame", sums, truth.rows(without_number))


def check(case):
    truth = Truth(case.random)
    path = case.folder / "run.kymo"
    case.run("import", truth.trace.write(case.folder / "run.json"), "-o", path)
    compare(case, "stats", of_stats(case.json("stats", path, "--top", "100")["rows"]), truth.rows(without_number))
    compare(case, "stats --full-text", of_stats(case.json("stats", path, "--full-text")["rows"]), truth.rows())
    check_flame(case, path, truth)
    check_report(case, "report", case.json("report", path), truth)
    check_diff(case, path, truth)
    check_view(case, path, truth)
    if has_duckdb(path):
        check_query(case, path, truth)
        check_python(case, path, truth)
        check_push(case, path, truth)
