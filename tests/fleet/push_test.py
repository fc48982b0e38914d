#!/usr/bin/env python3
"""`kymo push` into real ClickHouse servers: each trace once, and with any bytes in names."""
import gzip
import http.server
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import threading
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, visible, write_trace  # noqa: E402
from pushed_traces import NAMES, OPERATIONS, STEPS, PushedTraces  # noqa: E402


class PushTest(PushedTraces):
    def seen(self, table, what="count()"):
        return visible(self.server, table, self.database, what)

    def assert_complete(self, traces=None):
        count = len(self.traces) if traces is None else traces
        self.assertEqual(self.seen("traces", "count(DISTINCT trace)"), count)
        self.assertEqual(self.seen("iterations"), STEPS * count)
        self.assertEqual(self.seen("operations"), OPERATIONS * count)

    def test_rows_of_all_tables(self):
        kymo("push", *self.traces, self.url, "--job", "train")
        self.assert_complete()
        sums = self.server.rows(f"SELECT name, sum(count), sum(total_ns), max(max_ns), min(min_ns) FROM "
                                f"{self.database}.operations WHERE on_device = 1 GROUP BY name ORDER BY name")
        self.assertEqual(sums[0], ["gemm", "40", "40000000", "1000000", "1000000"])
        self.assertEqual(self.server.rows(f"SELECT DISTINCT iteration, numbered FROM {self.database}.iterations "
                                          "ORDER BY iteration"), [[str(i), "1"] for i in range(1, 11)])
        self.assertEqual(self.server.rows(
            f"SELECT process_group, name, max(members), max(calls), sum(ns), count(), "
            f"max(first_sequence) FROM {self.database}.waits GROUP BY process_group, name"),
            [["", "ncclDevKernel_AllReduce_Sum", "0", "1", str((3 * 700 + 200) * 10_000), "40", "-1"]])
        parts = dict(self.server.rows(f"SELECT part, sum(ns) FROM {self.database}.device_time GROUP BY part"))
        self.assertEqual(int(parts["compute"]), 40_000_000)
        trace = self.server.rows(f"SELECT DISTINCT job, iterations, wall_ns, median_wall_ns FROM "
                                 f"{self.database}.traces")
        self.assertEqual(trace, [["train", "10", "90000000", "9000000"]])

    def test_a_second_push_adds_nothing(self):
        kymo("push", *self.traces, self.url)
        _, text = kymo("push", *self.traces, self.traces[0], self.url)
        self.assertIn("5 already there", text)
        self.assert_complete()
        self.assertEqual(self.server.query(f"SELECT count() FROM {self.database}.traces").strip(), "4")

    def test_names_with_any_byte_survive(self):
        file = self.folder / "bytes.kymo"
        kymo("record", "-o", file, "--", clickhouse.BIN / "any_bytes", expect=None)
        kymo("push", file, self.url)
        expected = sorted(bytes([byte, ord("x"), 255 - byte]) for byte in range(256))
        # RowBinary: a length and the bytes.
        for table in ["operations"]:
            found = self.server.query_bytes(f"SELECT DISTINCT CAST(name AS String) AS n FROM {self.database}.{table} WHERE "
                                            "length(n) = 3 FORMAT RowBinary")
            names = [found[at + 1:at + 4] for at in range(0, len(found), 4)]
            self.assertEqual(sorted(names), expected, table)

    def test_an_injection_through_a_name_is_only_a_name(self):
        evil = "x'); DROP TABLE operations; --\\"
        file = write_trace(self.folder / "evil.json", name=lambda i: f"{evil}{i}")
        kymo("push", file, self.url, "--job", evil)
        found = self.server.query_bytes(f"SELECT DISTINCT name FROM {self.database}.operations WHERE "
                                        "startsWith(toString(name), 'x') ORDER BY name FORMAT RowBinary")
        self.assertEqual(found.count(evil.encode()), NAMES)
        out, _ = kymo("fleet", "top", "--db", self.url, "--job", evil, "--since", "5000d")
        self.assertIn("gemm", out)
        out, _ = kymo("fleet", "history", "--db", self.url, "--job", evil, "--since", "5000d", "--operation", evil + "1",
                      expect=3)
        self.assertIn("1 sample", out)
        self.assertEqual(self.seen("operations"), OPERATIONS)

    def test_unreadable_files_do_not_stop_the_others(self):
        bad = self.folder / "bad.kymo"
        bad.write_bytes(b"this is no trace")
        _, text = kymo("push", self.traces[0], bad, self.folder / "absent.kymo", self.traces[1], self.url, expect=1)
        self.assertIn("bad.kymo", text)
        self.assertIn("absent.kymo", text)
        self.assert_complete(2)

    def test_what_is_not_a_regular_file_is_refused_at_once(self):
        fifo, place = self.folder / "fifo", self.folder / "socket"
        os.mkfifo(fifo)
        with socket.socket(socket.AF_UNIX) as listens:
            listens.bind(str(place))
            for file in [fifo, place, "/dev/zero"]:
                _, text = kymo("push", file, self.url, expect=1)
                self.assertIn("not a regular file", text)
                self.assertEqual(len(text.splitlines()), 2, text)

    def test_a_trace_without_operations_is_there_once(self):
        file = self.folder / "instants.json"
        file.write_text(json.dumps({"traceEvents": [
            {"ph": "i", "name": "x", "pid": 1, "tid": 1, "ts": 1_700_000_000_000_000 + i, "s": "t"} for i in range(5)]}))
        kymo("push", file, self.url)
        self.assertEqual(self.seen("operations"), 0)
        _, text = kymo("push", file, self.url)
        self.assertIn("1 already there", text)

    def test_a_server_with_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        certificate = self.folder / "tls.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", certificate, "-out",
                        self.folder / "tls.crt", "-days", "2", "-subj", "/CN=kymo", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        certificate.write_text(certificate.read_text() + (self.folder / "tls.crt").read_text())
        with clickhouse.Server(self.folder / "tls", certificate=certificate) as server:
            url = server.url() + "?secure"
            kymo("push", self.traces[0], url, "--job", "train", env={"SSL_CERT_FILE": str(self.folder / "tls.crt")})
            text, _ = kymo("fleet", "jobs", "--db", url, "--since", "5000d", env={"SSL_CERT_FILE": str(self.folder / "tls.crt")})
            self.assertIn("train", text)
            _, text = kymo("push", self.traces[0], url, expect=1)
            self.assertIn("is its certificate trusted?", text)
            kymo("push", self.traces[0], server.url(), "--retries", 0, expect=1)

    def test_a_server_that_does_not_answer_is_named(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"clickhouse://127.0.0.1:{silent.getsockname()[1]}/x"
            patience = {"KYMO_CLICKHOUSE_TIMEOUT": "300ms"}
            _, text = kymo("fleet", "top", "--db", url, env=patience, expect=2)
            self.assertIn("does not answer: nothing for 0.3 s", text)
            _, text = kymo("push", self.traces[0], url, "--retries", 1, env=patience, expect=1)
            self.assertIn("gave up after 1 retries", text)
        _, text = kymo("fleet", "top", "--db", url, env={"KYMO_CLICKHOUSE_TIMEOUT": "0s"}, expect=2)
        self.assertIn("'0s' is not between 100ms and 24h", text)

    def test_a_damaged_trace_is_pushed_with_a_warning(self):
        for name, more in [("summary", [])]:
            damaged = self.folder / f"damaged-{name}.kymo"
            kymo("import", self.folder / "rank0.json", "-o", damaged)
            clickhouse.damage_events(damaged)
            _, text = kymo("push", damaged, f"{self.url}{name}", *more)
            self.assertRegex(text, f"{damaged.name} is damaged: the chunk at .*; only what can be read is pushed")
            self.assertIn("1 trace pushed", text)
            self.assertEqual(self.server.rows(f"SELECT complete, problems FROM {self.database}{name}.traces"),
                             [["0", "1"]])

    def test_a_trace_that_was_cut_is_pushed_with_a_warning(self):
        whole, cut = self.folder / "whole.kymo", self.folder / "cut.kymo"
        kymo("import", self.folder / "rank0.json", "-o", whole)
        content = whole.read_bytes()
        cut.write_bytes(content[:len(content) * 9 // 10])
        _, text = kymo("push", cut, self.url)
        self.assertIn("cut.kymo has no end", text)
        self.assertEqual(self.server.rows(f"SELECT complete FROM {self.database}.traces"), [["0"]])
        self.assertNotIn("is damaged", text)
        _, text = kymo("push", whole, self.url)
        self.assertNotIn("has no end", text)
        self.assertNotIn("is damaged", text)
        old = write_trace(self.folder / "old.json", at_us=1_000_000)
        _, text = kymo("push", old, self.url)
        self.assertIn("old.json does not say when it was recorded", text)

    def test_a_trace_of_another_tool_that_was_cut_is_pushed_with_a_warning(self):
        whole = (self.folder / "rank0.json").read_bytes()
        packed = gzip.compress(whole)
        for name, content in [("cut.json", whole[:len(whole) // 2]), ("no-bracket.json", whole[:-1]),
                              ("cut.json.gz", packed[:len(packed) // 2]), ("no-checksum.json.gz", packed[:-4])]:
            cut = self.folder / name
            cut.write_bytes(content)
            kymo("import", cut, "-o", self.folder / f"{name}.kymo", expect=None)
            for file, more in [(cut, []), (self.folder / f"{name}.kymo", [])]:
                _, text = kymo("push", file, self.url, *more)
                self.assertRegex(text, f"{file.name} is damaged: cannot read the .*; only what can be read is pushed")
        marks = self.server.rows(f"SELECT DISTINCT complete, problems FROM {self.database}.traces")
        self.assertEqual(marks, [["0", "1"]])

    def test_a_rank_that_is_not_a_number_is_said_once(self):
        files = [write_trace(self.folder / f"zz{i}.json", rank=None, first_step=i, metadata={"KYMO_RANK": "zz", **more})
                 for i, more in enumerate([{}, {"RANK": "3"}])]
        _, text = kymo("push", *files, self.url)
        self.assertEqual(text.count("KYMO_RANK=zz"), 1)
        # The next variable that has one is used.
        ranks = self.server.rows(f"SELECT rank FROM {self.database}.traces ORDER BY rank")
        self.assertEqual(ranks, [["-1"], ["3"]])
        for value, rank in [("x", None), (1.5, None), (-1, None), (7, 7), ("8", 8)]:
            file = write_trace(self.folder / f"info{value}.json", rank=None, metadata={"distributedInfo": {"rank": value}})
            _, text = kymo("push", file, self.url, "--job", f"info{value}")
            self.assertEqual(f"rank in distributedInfo={value} of the recorded program is not a rank, so it has none" in text, rank is None)
            [[found]] = self.server.rows(f"SELECT rank FROM {self.database}.traces WHERE job = 'info{value}'")
            self.assertEqual(found, str(-1 if rank is None else rank))

    def test_missing_files_are_reported_without_a_server(self):
        [port] = clickhouse.free_ports(1)
        bad = self.folder / "bad2.kymo"
        bad.write_bytes(b"this is no trace")
        _, text = kymo("push", self.folder / "absent.kymo", bad, f"clickhouse://127.0.0.1:{port}/x", expect=1)
        self.assertIn("absent.kymo", text)
        self.assertIn("bad2.kymo", text)
        self.assertNotIn("connect", text)

    def test_the_rank_that_pytorch_writes_is_used(self):
        kymo("push", *self.traces, self.url)
        ranks = self.server.rows(f"SELECT DISTINCT rank FROM {self.database}.traces ORDER BY rank")
        self.assertEqual(ranks, [["0"], ["1"], ["2"], ["3"]])

    def test_a_table_of_somebody_else_is_refused(self):
        self.server.query(f"CREATE DATABASE {self.database}")
        self.server.query(f"CREATE TABLE {self.database}.operations (trace UInt64, name String) ENGINE = MergeTree() "
                          "ORDER BY trace")
        _, text = kymo("push", self.traces[0], self.url, expect=1)
        self.assertIn("has a table operations that is not Kymo's: use another database", text)
        self.assertNotIn("again", text)
        self.server.query(f"DROP TABLE {self.database}.operations")
        self.server.query(f"DROP DATABASE {self.database}")
        kymo("push", self.traces[0], self.url)

    def test_tables_of_another_version_are_refused(self):
        self.server.query(f"CREATE DATABASE {self.database}")
        self.server.query(f"CREATE TABLE {self.database}.kymo_schema (version UInt32, attempt UInt64) ENGINE = MergeTree() "
                          "ORDER BY version")
        self.server.query(f"INSERT INTO {self.database}.kymo_schema (version, attempt) VALUES (4, 0)")
        _, text = kymo("push", self.traces[1], self.url, expect=1)
        self.assertIn("has tables of version 4, and this kymo has version 8: push the traces into a new database", text)
        self.assertEqual(len(text.splitlines()), 1)

    def test_wrong_addresses(self):
        for address, word in [("clickhouse://", "no database"), ("http://x/y", "clickhouse://"),
                              ("clickhouse://h:99999/x", "port"), ("clickhouse://h/a b", "database"),
                              ("clickhouse://u:secret@h:x/d", "port"), ("clickhouse://h/d?x=1", "cluster")]:
            _, text = kymo("push", self.traces[0], address, expect=2)
            self.assertIn(word, text)
            self.assertNotIn("secret", text)
        [port] = clickhouse.free_ports(1)
        _, text = kymo("push", self.traces[0], f"clickhouse://127.0.0.1:{port}/x", "--retries", 1, expect=1)
        self.assertIn("cannot connect", text)
        self.assertIn("gave up after 1 retries", text)

    def test_a_server_that_answers_nonsense(self):
        answers = [b"", b"\x00\xff\tgarbage", b"<html>hello</html>\n", b"a\tb\n1\n", b"version\n\\q\n", b"x\n" * 9]

        class Nonsense(http.server.BaseHTTPRequestHandler):
            count = 0

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = answers[Nonsense.count % len(answers)]
                Nonsense.count += 1
                self.send_response(random.choice([200, 200, 200, 404]))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        fake = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nonsense)
        threading.Thread(target=fake.serve_forever, daemon=True).start()
        url = f"clickhouse://127.0.0.1:{fake.server_port}/x"
        for _ in range(20):
            _, text = kymo("push", self.traces[0], url, "--retries", 1, expect=1)
            self.assertIn("kymo:", text)
            _, text = kymo("fleet", "top", "--db", url, "--job", "x", expect=2)
            self.assertIn("kymo:", text)
        fake.shutdown()


if __name__ == "__main__":
    clickhouse.skip_without_server()
    unittest.main(verbosity=2)
