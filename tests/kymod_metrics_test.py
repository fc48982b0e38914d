#!/usr/bin/env python3
"""The metrics of kymod: on loopback and on a unix socket, and for nobody else."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

KYMOD = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin" / "kymod"


class KymodMetricsTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="kymo-metrics-")
        self.folder = pathlib.Path(self.temporary.name)
        self.folder.chmod(0o700)

    def tearDown(self):
        self.temporary.cleanup()

    def start(self, *more):
        return subprocess.Popen([KYMOD, "--socket", self.folder / "socket", *more], stderr=subprocess.PIPE, text=True)

    def ask(self, request):
        end = time.monotonic() + 600
        path = str(self.folder / "metrics")
        while True:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(600)
                try:
                    connection.connect(path)
                except OSError:
                    self.assertLess(time.monotonic(), end, "kymod does not listen")
                    time.sleep(0.05)
                    continue
                connection.sendall(request)
                reply = b""
                while part := connection.recv(4096):
                    reply += part
                return reply.decode()

    def test_counts_are_served(self):
        kymod = self.start("--metrics", f"unix:{self.folder}/metrics")
        try:
            text = self.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn("200 OK", text)
            self.assertIn("kymod_programs 0\n", text)
            self.assertIn("kymod_triggers_total 0\n", text)
            self.assertIn("404", self.ask(b"GET / HTTP/1.1\r\n\r\n"))
            self.assertIn("431", self.ask(b"x" * 8192))
            # Silent connections do not keep others from reading.
            silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
            for one in silent:
                one.connect(str(self.folder / "metrics"))
            self.assertIn("200 OK", self.ask(b"GET /metrics HTTP/1.1\r\n\r\n"))
            for one in silent:
                one.close()
            self.assertEqual((self.folder / "metrics").stat().st_mode & 0o777, 0o660)
        finally:
            kymod.send_signal(signal.SIGTERM)
            kymod.communicate(timeout=600)
        self.assertEqual(kymod.returncode, 0)
        self.assertFalse((self.folder / "metrics").exists())

    def test_other_machines_are_refused(self):
        for place in ["0.0.0.0:9463", "example.org:1", "127.0.0.1", "unix:x"]:
            kymod = self.start("--metrics", place)
            _, text = kymod.communicate(timeout=600)
            self.assertEqual(kymod.returncode, 2)
            self.assertIn("is not a place for metrics", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
