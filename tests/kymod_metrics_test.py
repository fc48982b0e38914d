#!/usr/bin/env python3
"""The metrics of kymod: on loopback and on a unix socket, and for nobody else."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

KYMOD = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin" / "kymod"

# What NVIDIA's library answers on a machine with two GPUs, the second one without a sensor of its power.
NVML = r"""
#include <string.h>
typedef struct { unsigned id, scope; long long time, latency; unsigned type; int error; unsigned long long value; } Field;
static int gpus[2];
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** gpu) { return i < 2 ? (*gpu = &gpus[i], 0) : 2; }
int nvmlDeviceGetName(void* gpu, char* name, unsigned size) { strncpy(name, "NVIDIA \"H200\"", size); return 0; }
int nvmlDeviceGetPowerUsage(void* gpu, unsigned* mw) { return gpu == gpus ? (*mw = 612500, 0) : 3; }
int nvmlDeviceGetClockInfo(void* gpu, int kind, unsigned* mhz) { *mhz = kind == 1 ? 1980 : 3201; return 0; }
int nvmlDeviceGetTotalEccErrors(void* gpu, int kind, int counter, unsigned long long* n) { *n = kind == 0 ? 7 : 0; return 0; }
int nvmlDeviceGetFieldValues(void* gpu, int count, Field* fields) {
  for (int i = 0; i < count; ++i) fields[i].error = fields[i].id == 38 || fields[i].id == 52 ? 0 : 3, fields[i].value = 2;
  return 0;
}
"""


class KymodMetricsTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="kymo-metrics-")
        self.folder = pathlib.Path(self.temporary.name)
        self.folder.chmod(0o700)

    def tearDown(self):
        self.temporary.cleanup()

    def start(self, *more, **variables):
        return subprocess.Popen([KYMOD, "--socket", self.folder / "socket", *more], stderr=subprocess.PIPE, text=True,
                                env=os.environ | variables)

    @unittest.skipIf(shutil.which("cc") is None, "no C compiler")
    def test_sensors_of_gpus_are_served(self):
        library = self.folder / "libnvidia-ml.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", library], input=NVML, text=True, check=True)
        kymod = self.start("--metrics", f"unix:{self.folder}/metrics", LD_LIBRARY_PATH=str(self.folder))
        try:
            text = self.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            first, second = 'gpu="0",name="NVIDIA H200"', 'gpu="1",name="NVIDIA H200"'
            self.assertIn(f"kymod_gpu_power_w{{{first}}} 612.5\n", text)
            self.assertNotIn(f"kymod_gpu_power_w{{{second}}}", text)
            self.assertIn(f"kymod_gpu_sm_clock_mhz{{{second}}} 1980\n", text)
            self.assertIn(f"kymod_gpu_ecc_errors_corrected{{{first}}} 7\n", text)
            self.assertIn(f"kymod_gpu_nvlink_errors{{{first}}} 4\n", text)
            self.assertEqual(text.count("# TYPE kymod_gpu_sm_clock_mhz gauge"), 1)
        finally:
            kymod.send_signal(signal.SIGTERM)
            kymod.wait(600)
            kymod.stderr.close()

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
