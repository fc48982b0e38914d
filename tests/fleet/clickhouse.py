"""ClickHouse servers for tests: chdb, which is ClickHouse as a library (only for x86-64), on loopback, in a folder of its own."""
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import time

BIN = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin"
KYMO = BIN / "kymo"
SKIP = 77
# chdb does not report the progress of a query, and a machine may be busy.
os.environ.setdefault("KYMO_CLICKHOUSE_TIMEOUT", "10m")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kymo"

def free_ports(count):
    """Ports for servers that start later. Not of those that the kernel gives to whoever asks for any port."""
    ports = []
    while len(ports) < count:
        port = random.randrange(15_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            ports.append(port)
    return ports


def skip_without_duckdb():
    said = subprocess.run([KYMO, "push", "x", "parquet:/x"], capture_output=True, text=True).stderr
    if "DuckDB" in said:
        print(f"SKIPPED: {said.strip()}")
        sys.exit(SKIP)


def run_duckdb(statement):
    newest = max(CACHE.glob("duckdb-*/libduckdb.so"), default="libduckdb.so")
    library = ctypes.CDLL(os.environ.get("KYMO_DUCKDB_LIBRARY") or str(newest))
    database, connection = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.duckdb_open(None, ctypes.byref(database)) == 0
    assert library.duckdb_connect(database, ctypes.byref(connection)) == 0
    assert library.duckdb_query(connection, statement.encode(), None) == 0


def chdb_library():
    return max(CACHE.glob("chdb-*/libchdb.so"), default=None)


def skip_without_server():
    if chdb_library() is None:
        print("SKIPPED: a recent ClickHouse is not installed (scripts/install-chdb, only for x86-64)")
        sys.exit(SKIP)


class Server:
    """A server process. kill() is kill -9; start() continues with the same data."""

    def __init__(self, folder, data=None, certificate=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = data or self.folder / "data"
        [self.http] = free_ports(1)
        self.certificate = certificate
        self.process = None

    def start(self):
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, pathlib.Path(__file__).with_name("chdb_server.py"), chdb_library(), self.data, str(self.http),
                 *([self.certificate] if self.certificate else [])],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, cwd=self.folder)
        if not self.process.stdout.readline():
            raise AssertionError("the server does not start: " + (self.folder / "output").read_text()[-2000:])
        return self

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    stop = kill

    def query(self, statement, expect=200):
        return self.query_bytes(statement, expect).decode()

    def query_bytes(self, statement, expect=200):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=600)
        try:
            connection.request("POST", "/", statement.encode() if isinstance(statement, str) else statement)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        assert expect is None or response.status == expect, body.decode(errors="replace")
        return body

    def rows(self, statement):
        return [line.split("\t") for line in self.query(statement).splitlines()]

    def url(self, database="kymo"):
        return f"clickhouse://127.0.0.1:{self.http}/{database}"

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


COMPLETE = ("(trace, attempt) IN (SELECT trace, max(attempt) FROM {0}.traces GROUP BY trace)")


def visible(server, table, database="kymo", what="count()"):
    """What readers see of a table."""
    return int(server.query(f"SELECT {what} FROM {database}.{table} WHERE " + COMPLETE.format(database)))


def write_trace(path, *, rank=0, steps=10, names=20, at_us=1_700_000_000_000_000, first_step=1, scale=1.0,
                slow_collective=False, name=lambda i: f"aten::op{i}", metadata=None, ranks=0):
    """A trace of PyTorch's profiler: steps with operators, kernels and one collective. All ranks enter a collective, the
    slow one last: it spends the least time in it. `metadata` is as of the environment of a recorded program. `ranks` are
    those of the process group; 0: the trace does not name it."""
    events = []
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7}
    for step in range(steps):
        begin = at_us + step * 20_000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{first_step + step}", "pid": 100,
                       "tid": 100, "ts": begin, "dur": 9_000 * scale})
        for i in range(names):
            start = begin + 10 + i * 20
            events.append({"ph": "X", "cat": "cpu_op", "name": name(i), "pid": 100, "tid": 100, "ts": start,
                           "dur": 15})
        events.append({**kernel, "name": "gemm", "ts": begin + 500, "dur": 1_000 * scale})
        wait = 200 if slow_collective else 700
        group = {"args": {"Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}} if ranks else {}
        events.append({**kernel, "name": "ncclDevKernel_AllReduce_Sum", "ts": begin + 8_000 - wait, "dur": wait, **group})
    about = {**({} if rank is None else {"distributedInfo": {"rank": rank}}), **(metadata or {})}
    pathlib.Path(path).write_text(json.dumps({"schemaVersion": 1, **about, "traceEvents": events}))
    return str(path)


def push_after_kills(command):
    """Kills a push three times at any moment, and then lets it end."""
    for _ in range(3):
        pusher = subprocess.Popen(command)
        time.sleep(random.uniform(0, 0.5))
        pusher.kill()
        pusher.wait()
    assert subprocess.run(command, timeout=600).returncode == 0, command


def damage_events(path):
    """Overwrites bytes in the middle of a trace so that `kymo info`, which reads no events, does not notice."""
    good = path.read_bytes()
    for at in range(len(good) // 4, len(good), 32):
        path.write_bytes(good[:at] + b"\xff" * 8 + good[at + 8:])
        if kymo("info", path, expect=None)[1] == "" and "damaged" in kymo("stats", path, expect=None)[1]:
            return path
    raise AssertionError(f"{path} has no events")


def write_runs(folder, steps):
    """A job that ran three times with the same steps. Rank 0 is the slow one of the older two runs, rank 1 that of the
    newest. Rank 2 is only in the oldest. The clocks of the ranks differ by seconds. One trace has no rank."""
    now = int(time.time() * 1e6)
    files = []
    for run, age_hours in enumerate([30, 20, 2]):
        for rank in [0, 1, 2] if run == 0 else [0, 1]:
            files.append(write_trace(folder / f"run{run}-{rank}.json", rank=rank, steps=steps, names=2,
                                     at_us=now - age_hours * 3_600_000_000 + rank * 3_000_000, scale=1 + run / 1000,
                                     ranks=3 if run == 0 else 2, slow_collective=rank == (1 if run == 2 else 0)))
    files.append(write_trace(folder / "run-none.json", rank=None, steps=steps, names=2, at_us=now - 7_200_000_000))
    return files


def check_parts(test, url, folder):
    """A recording without its end, and later the whole one."""
    whole, half = folder / "whole.kymo", folder / "half.kymo"
    kymo("record", "-o", whole, "--", BIN / "any_bytes", expect=None)
    content = whole.read_bytes()
    half.write_bytes(content[:len(content) * 9 // 10])

    def traces(expect):
        text, said = kymo("fleet", "top", "--db", url, "--limit", 1000, "--json", expect=expect)
        return {row["traces"] for row in json.loads(text)["rows"]}, said

    kymo("push", half, url)
    count, said = traces(3)
    test.assertEqual(count, set())
    test.assertIn("not counted: 1 incomplete trace, because the recording or the file was cut off or is damaged", said)
    test.assertIn("no trace of this time is complete, so none counts", said)
    kymo("push", whole, url)
    count, said = traces(0)
    test.assertEqual(count, {1})
    test.assertIn("not counted: 1 incomplete trace", said)


# For tests of permissions: root may do everything, unless it has no capabilities for that.
AS_OTHERS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


class WithServer:
    """For tests whose class has a `folder`: a server of their own, and a database for each test."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(cls.folder / "server").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        super().tearDownClass()

    def setUp(self):
        self.database = "d" + self.id().rsplit(".", 1)[-1]
        self.url = self.server.url(self.database)


def kymo(*arguments, expect=0, env=None, prefix=()):
    done = subprocess.run([*prefix, KYMO, *map(str, arguments)], capture_output=True, timeout=600,
                          env={**os.environ, "NO_COLOR": "1", **(env or {})})
    text = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    assert expect is None or done.returncode == expect, (arguments, done.returncode, text)
    return text
