#!/usr/bin/env python3
"""What libkymo_sample.so writes into the memory of a recorder (src/core/sample/preload/packets.h): here, of this test."""

import ctypes.util
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from recorded_programs import BIN
from waiting import wait_until

LIBRARY = BIN.parent / "lib" / "libkymo_sample.so"
MAGIC, HEADER_BYTES, SLOT_BYTES, SLOT_HEADER_BYTES = 0x31534B504F4D594B, 4096, 32768, 32
FREE, CLAIMED, READY, PHASE, PID_SHIFT = 0, 1, 2, 3, 2
SAMPLE, UNLOAD, PYTHON = 9, 1001, 1002
HOUR_NS = 3600 * 10**9


class Packets:
    def __init__(self, slots, interval_ns):
        self.slots = slots
        self.file = os.memfd_create("kymo-samples")
        os.ftruncate(self.file, HEADER_BYTES + slots * SLOT_BYTES)
        self.memory = mmap.mmap(self.file, 0)
        self.memory[:40] = struct.pack("5Q", MAGIC, slots, interval_ns, 0, 0)

    def environment(self):
        return {**os.environ, "LD_PRELOAD": str(LIBRARY), "KYMO_SAMPLE_PACKETS": f"/proc/{os.getpid()}/fd/{self.file}"}

    def set_state(self, state):
        for slot in range(self.slots):
            struct.pack_into("Q", self.memory, HEADER_BYTES + slot * SLOT_BYTES, state)

    def records(self):
        """The types of the records of each packet that is ready, in their order."""
        packets = []
        for slot in range(self.slots):
            at = HEADER_BYTES + slot * SLOT_BYTES
            state, number, size = struct.unpack_from("3Q", self.memory, at)
            if state & PHASE != READY:
                continue
            types, at = [], at + SLOT_HEADER_BYTES
            end = at + size
            while at < end:
                kind, _, length = struct.unpack_from("IHH", self.memory, at)
                types.append(kind)
                at += length
            packets.append((number, types))
        return [types for _, types in sorted(packets)]


def unload(path):
    return f"library = ctypes.CDLL({str(path)!r}); _ctypes.dlclose(library._handle)\n"


class SamplePacketsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kymo-packets-"))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(BIN / "libbusy.so", self.folder / "libgone.so")

    def start(self, packets, script):
        process = subprocess.Popen([sys.executable, "-S", "-c", "import ctypes, _ctypes\n" + script], text=True,
                                   env=packets.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        return process

    def test_only_a_file_that_is_unloaded_is_reported(self):
        used = ctypes.util.find_library("c")
        counts = []
        for script in ("", f"for _ in range(100): {unload(used)}", unload(self.folder / "libgone.so")):
            packets = Packets(64, HOUR_NS)
            self.assertEqual(self.start(packets, script).wait(), 0)
            records = packets.records()
            self.assertTrue(records, "the program has sent nothing")
            counts.append(sum(types.count(UNLOAD) for types in records))
        self.assertEqual(counts[1:], [counts[0], counts[0] + 1])

    def test_a_file_that_is_unloaded_while_there_is_no_space_is_reported_with_the_next_sample(self):
        packets = Packets(1, 1_000_000)
        packets.set_state(os.getpid() << PID_SHIFT | CLAIMED)
        process = self.start(packets, unload(self.folder / "libgone.so") + "print(flush=True)\nfor i in iter(int, 1): pass\n")
        process.stdout.readline()
        packets.set_state(FREE)
        wait_until(lambda: process.poll() is not None or packets.records(), "the program sends a sample")
        self.assertIsNone(process.poll())
        process.kill()
        self.assertEqual([[kind for kind in kinds if kind != PYTHON] for kinds in packets.records()], [[UNLOAD, SAMPLE]])


if __name__ == "__main__":
    unittest.main(verbosity=1)
