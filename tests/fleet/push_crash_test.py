#!/usr/bin/env python3
"""`kymo push` while the server or the command is killed, or the disk is full: nothing is lost and nothing is doubled."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, visible  # noqa: E402
from pushed_traces import OPERATIONS, STEPS, PushedTraces  # noqa: E402

ROUNDS = int(os.environ.get("KYMO_PUSH_ROUNDS", "6"))
DISK_ROUNDS = int(os.environ.get("KYMO_PUSH_ROUNDS", "2"))


class PushCrashTest(PushedTraces):
    def test_a_killed_server_loses_and_doubles_nothing(self):
        server = clickhouse.Server(self.folder / "killed").start()
        try:
            for round_number in range(ROUNDS):
                database = f"{self.database}{round_number}"
                pusher = subprocess.Popen(
                    [clickhouse.KYMO, "push", *self.traces, server.url(database), "--retries", "60"],
                    stderr=subprocess.PIPE)
                time.sleep(random.uniform(0, 0.6))
                server.kill()
                time.sleep(0.1)
                server.start()
                self.assertEqual(pusher.wait(timeout=600), 0, pusher.stderr.read())
                pusher.stderr.close()
                self.assertEqual(visible(server, "operations", database), 4 * OPERATIONS)
                self.assertEqual(visible(server, "iterations", database), 4 * STEPS)
        finally:
            server.kill()

    def test_a_killed_pusher_loses_and_doubles_nothing(self):
        for round_number in range(ROUNDS):
            database = f"{self.database}{round_number}"
            command = [clickhouse.KYMO, "push", *self.traces, self.server.url(database), "-q"]
            clickhouse.push_after_kills(command)
            for table, rows in [("operations", 4 * OPERATIONS), ("iterations", 4 * STEPS)]:
                self.assertEqual(visible(self.server, table, database), rows)

    def test_a_full_disk_loses_and_doubles_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("no permission to mount a small file system")
        try:
            for round_number in range(DISK_ROUNDS):
                # A server keeps what is dropped for minutes, and the disk is small: each round has its own.
                data = disk / f"data{round_number}"
                with clickhouse.Server(self.folder / "full", data=data) as server:
                    self.fill_disk_while_pushing(disk, server)
                shutil.rmtree(data)
        finally:
            subprocess.run(["umount", "-l", disk], check=False)

    def fill_disk_while_pushing(self, disk, server):
        url = server.url(self.database)
        kymo("push", self.traces[0], url)
        free = os.statvfs(disk)
        # Sometimes there is room for a part of what is pushed.
        room = random.choice([0, 0, 4096, 16384, 65536])
        with open(disk / "ballast", "wb") as ballast:
            try:
                ballast.write(b"\0" * max(0, free.f_bavail * free.f_frsize - room))
                ballast.flush()
            except OSError:
                pass
        _, text = kymo("push", *self.traces, url, "--retries", 1, expect=1 if room == 0 else None)
        if room == 0:
            self.assertIn("run the same command again", text)
            self.assertEqual(visible(server, "operations", self.database), OPERATIONS)
        (disk / "ballast").unlink()
        kymo("push", *self.traces, url, "--retries", 8)
        self.assertEqual(visible(server, "operations", self.database), 4 * OPERATIONS)
        self.assertEqual(visible(server, "iterations", self.database), 4 * STEPS)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    unittest.main(verbosity=2)
