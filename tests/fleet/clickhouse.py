"""ClickHouse servers for tests: real ones, on loopback, in a folder of their own."""
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time

BIN = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin"
KYMO = BIN / "kymo"
START_SECONDS = 600
SKIP = 77
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kymo"

CONFIG = """<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{data}/</path><tmp_path>{data}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size>
<remote_servers><fleet>{shards}</fleet></remote_servers></yandex>
"""
SHARD = "<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>"
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
"""


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


def skip_without_server():
    if shutil.which("clickhouse-server") is None:
        print("SKIPPED: clickhouse-server is not installed (scripts/install-deps test)")
        sys.exit(SKIP)


class Server:
    """A server process. kill() is kill -9; start() continues with the same data."""

    def __init__(self, folder, ports=None, cluster=None, data=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.http, self.tcp = ports or free_ports(2)
        data = data or self.folder / "data"
        shards = "".join(SHARD.format(port=port) for port in cluster or [self.tcp])
        (self.folder / "config.xml").write_text(
            CONFIG.format(folder=self.folder, data=data, http=self.http, tcp=self.tcp, shards=shards))
        (self.folder / "users.xml").write_text(USERS)
        self.process = None

    def start(self, wait=True):
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen(
                ["clickhouse-server", f"--config-file={self.folder}/config.xml"], stdout=output, stderr=output,
                cwd=self.folder, start_new_session=True)
        if wait:
            self.wait()
        return self

    def wait(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            try:
                if self.query("SELECT 1").strip() == "1":
                    return
            except (OSError, http.client.HTTPException):
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError("the server does not start: " + (self.folder / "output").read_text()[-2000:])

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    stop = kill  # its SIGTERM may hang

    def query(self, statement, expect=200):
        return self.query_bytes(statement, expect).decode()

    def query_bytes(self, statement, expect=200):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=600)
        try:
            connection.request("POST", "/?allow_experimental_low_cardinality_type=1", statement.encode() if isinstance(statement, str) else statement)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        assert expect is None or response.status == expect, body.decode(errors="replace")
        return body

    def rows(self, statement):
        return [line.split("\t") for line in self.query(statement).splitlines()]

    def create_distributed(self, database="everywhere", of="kymo"):
        """A database whose tables are those of all servers of the cluster."""
        self.query(f"CREATE DATABASE {database}")
        for [table] in self.rows(f"SELECT name FROM system.tables WHERE database = '{of}'"):
            self.query(f"CREATE TABLE {database}.{table} AS {of}.{table} ENGINE = Distributed(fleet, {of}, {table})")

    def url(self, database="kymo", cluster=False):
        return f"clickhouse://127.0.0.1:{self.http}/{database}" + ("?cluster=fleet" if cluster else "")

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
        if kymo("info", path, "--strict", expect=None)[1] == "" and "damaged" in kymo("stats", path, expect=None)[1]:
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


def check_labels(test, file, url, labels):
    """What is not given again stays as it was given before. `labels` returns the job and rank that the store has."""
    kymo("push", file, url, "--job", "mine", "--rank", 9)
    for more, job, rank in [(["--events"], "mine", 9), (["--job", "other"], "other", 9), (["--rank", 7], "other", 7)]:
        kymo("push", file, url, *more)
        test.assertEqual(labels(), (job, rank), more)


def check_parts(test, url, folder):
    """A recording without its end, and later the whole one."""
    whole, half = folder / "whole.kymo", folder / "half.kymo"
    kymo("record", "-o", whole, "--", BIN / "any_bytes", expect=None)
    content = whole.read_bytes()
    half.write_bytes(content[:len(content) * 9 // 10])

    def traces():
        text, said = kymo("fleet", "top", "--db", url, "--limit", 1000, "--json")
        return {row["traces"] for row in json.loads(text)["rows"]}, said

    kymo("push", half, url)
    count, said = traces()
    test.assertEqual(count, {1})
    test.assertRegex(said, "^kymo: incomplete, but counted: 0x[0-9a-f]{16} .*half.kymo")
    kymo("push", whole, url)
    for question in ["top", "history"]:
        _, said = kymo("fleet", question, "--db", url, expect=None)
        test.assertRegex(said, "(?m)^kymo: not counted: 0x[0-9a-f]{16} .*half.kymo.; a complete trace of the same recording")
        test.assertNotIn("whole.kymo", said)
    test.assertEqual(traces()[0], {1})


def check_removal(test, traces, url):
    """Removes traces by number and by file. `traces` are at least three of one push."""
    def top():
        text, said = kymo("fleet", "top", "--db", url, "--since", "5000d", "--json", expect=None)
        return {row["name"]: row for row in json.loads(text)["rows"]}.get("gemm", {"traces": 0}), said

    count = len(traces)
    kymo("push", *traces, url, "--job", "train")
    kymo("push", traces[1], url, "--job", "relabelled")  # so that it has two attempts
    calls = top()[0]["calls"] // count
    number = top()[0]["slowest_trace"]
    test.assertRegex(number, "^0x[0-9a-f]{16}$")
    for words in ["1 trace removed", "0 traces removed, 1 not there"]:
        test.assertIn(words, kymo("push", "--remove", number, url)[1])
        row, said = top()
        test.assertEqual((row["traces"], row["calls"], said), (count - 1, (count - 1) * calls, ""))
    test.assertIn("1 trace pushed", kymo("push", *traces, url)[1])
    test.assertEqual(top()[0]["traces"], count)
    # The newest attempt of a trace goes with the ones before it.
    test.assertIn("1 trace removed", kymo("push", "--remove", traces[1], url)[1])
    row, said = top()
    test.assertEqual((row["traces"], row["calls"], said), (count - 1, (count - 1) * calls, ""))
    others = [trace for trace in traces if trace != traces[1]]
    test.assertIn(f"{count - 1} already there", kymo("push", *others, url)[1])
    test.assertIn(f"{count - 1} traces removed, 1 not there", kymo("push", "--remove", *traces, url)[1])
    test.assertEqual(top()[0]["traces"], 0)
    kymo("push", *traces, url, "--job", "train")
    test.assertEqual(top()[0]["calls"], count * calls)
    _, said = kymo("push", "--remove", "0x12", url, expect=1)
    test.assertIn("'0x12' is not a trace: give its number as kymo fleet prints it", said)


def check_lost_relabel(test, trace, url, lose_newest_mark, make_older):
    """The mark of a push that gave another job is lost: that is said, and the next push repairs it with that job."""
    def jobs():
        found = {}
        for job in ["old", "new"]:
            text, said = kymo("fleet", "top", "--db", url, "--since", "5000d", "--job", job, "--json", expect=None)
            found[job] = max((row["traces"] for row in json.loads(text)["rows"]), default=0), said
        return found

    kymo("push", trace, url, "--job", "old")
    kymo("push", trace, url, "--job", "new")
    test.assertEqual({job: count for job, (count, _) in jobs().items()}, {"old": 0, "new": 1})
    lose_newest_mark()
    make_older()  # a push that is in progress looks the same for some time
    for job, (count, said) in jobs().items():
        test.assertEqual(count, 1 if job == "old" else 0)
        test.assertRegex(said, r"not counted: .* of 1 trace without a commit mark .*: 0x[0-9a-f]{16} \(job new\); push it again: "
                               r"until then, what was pushed before counts, with the job old\n")
    test.assertIn("1 trace pushed", kymo("push", trace, url)[1])
    found = jobs()
    test.assertEqual({job: count for job, (count, _) in found.items()}, {"old": 0, "new": 1})
    test.assertEqual(found["new"][1], "")
    test.assertIn("1 already there", kymo("push", trace, url)[1])


def check_conflict(test, folder, url):
    """Two pushes of the same traces with different jobs at the same time: all traces have one of the two. They are more
    than one batch."""
    count = 150
    files = [write_trace(folder / f"conflict{i}.json", steps=1, names=1, rank=i, at_us=1_700_000_000_000_000 + i * 1_000_000)
             for i in range(count)]
    for round_number in range(3):
        jobs = [f"a{round_number}", f"b{round_number}"]
        pushes = [subprocess.Popen([KYMO, "push", *(files if i == 0 else files[::-1]), url, "-q", "--job", job])
                  for i, job in enumerate(jobs)]
        test.assertEqual([push.wait(timeout=600) for push in pushes], [0, 0])
        found = {}
        for job in jobs:
            text, _ = kymo("fleet", "top", "--db", url, "--since", "5000d", "--job", job, "--json", expect=None)
            found[job] = max((row["traces"] for row in json.loads(text)["rows"]), default=0)
        test.assertEqual(sorted(found.values()), [0, count], found)


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
