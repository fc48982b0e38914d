#!/usr/bin/env python3
"""`kymo record` with programs that cannot load its libraries, or that see other files: one clear line, and they run.

Also recordings inside of recordings, and programs that set the variables of interfaces themselves.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from recorded_programs import BIN, LIMIT, MILLISECONDS, Recorded

NOBODY = 65534


class HardTest(Recorded):
    def test_32_bit_program(self):
        source = self.folder / "a.c"
        source.write_text('void _start(void) { for (volatile unsigned i = 0; i < 300000000u; ++i); '
                          '__asm__ volatile("int $0x80" : : "a"(1), "b"(7)); }\n')
        words = (os.environ.get("CC", "cc"), "-m32", "-O1", "-fno-pie", "-no-pie", "-nostdlib", "-static", source, "-o", "a")
        if self.run_words(*words)[0] != 0 or self.run_words(self.folder / "a")[0] != 7:
            self.skipTest("no 32-bit programs here")
        code, _, err = self.run_words(BIN / "kymo", "record", "--no-sample", "-o", "run.kymo", "--", "./a")
        self.assertEqual(code, 7)
        self.assertIn("nothing was recorded: ./a is a 32-bit program, and Kymo's libraries have 64 bits", err)
        code, _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", "./a")
        self.assertEqual(code, 7)
        self.assertIn("32-bit program", err)
        if "no CPU samples" not in err:
            self.assertTrue(any(row["module"] == str(self.folder / "a") for row in self.functions()[1].values()))

    def test_program_for_another_processor(self):
        program = self.folder / "a"
        content = bytearray((BIN / "busy").read_bytes())
        content[18:20] = (0xf3).to_bytes(2, "little")  # RISC-V
        program.write_bytes(content)
        program.chmod(0o755)
        code, _, err = self.run_words(BIN / "kymo", "record", "-o", "run.kymo", "--", "./a")
        self.assertEqual(code, 126, err)
        self.assertIn("./a", err)
        self.assertFalse((self.folder / "run.kymo").exists(), "nothing ran")

    NEW = ("#include <new>\nstruct alignas(64) Aligned { char bytes[64]; };\n"
           "template <class T> void use(T* it) { asm volatile(\"\" : : \"r\"(it) : \"memory\"); }\n"
           "int main() { for (int i = 0; i < 1000; ++i) { auto* one = new int; use(one); delete one;\n"
           "auto* many = new (std::nothrow) char[100]; use(many); delete[] many;\n"
           "auto* aligned = new Aligned; use(aligned); delete aligned; } }\n")

    def library(self, name):
        found = next(pathlib.Path("/usr/lib").glob(f"*/{name}"), None)
        if found is None:
            self.skipTest(f"{name} is not installed (scripts/install-deps test)")
        return found

    def heap_of(self, source, *prefix, link=()):
        """Compiles a C++ program, records its heap, and returns what `kymo memory` says of it, with its exit code."""
        (self.folder / "a.cc").write_text(source)
        self.assertEqual(self.run_words(os.environ.get("CXX", "c++"), "-O1", "-o", "a", "a.cc", *link)[0], 0)
        code, _, err = self.run_words(*prefix, BIN / "kymo", "record", "--no-sample", "--memory", "-o", "run.kymo", "--", "./a")
        self.assertEqual(code, 0, err)
        code, out, err = self.run_words(BIN / "kymo", "memory", "--strict", "--json", "run.kymo")
        return code, json.loads(out) if out else {}, err

    def test_operator_new_of_an_allocator_is_recorded(self):
        for name in ("", "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libmimalloc.so.2"):
            with self.subTest(library=name):
                code, heap, err = self.heap_of(self.NEW, "env", f"LD_PRELOAD={self.library(name) if name else ''}")
                self.assertEqual(code, 0, err)
                self.assertGreaterEqual(heap["allocations"], 3000)
                self.assertLess(heap["allocations"], 3100)
                self.assertLess(heap["allocations"] - heap["returns"], 100)

    def test_allocator_in_the_program_is_in_the_ledger(self):
        for name in ("libjemalloc.a", "libtcmalloc_minimal.a"):
            with self.subTest(library=name):
                code, _, err = self.heap_of(self.NEW, link=(self.library(name), "-lpthread", "-ldl", "-lm"))
                self.assertEqual(code, 3, err)
                self.assertIn("./a contains an allocator (a malloc that is linked statically): its heap is not recorded", err)

    def test_program_that_contains_an_allocator_is_in_the_ledger(self):
        source = ("#include <cstddef>\nstatic char memory[1 << 24]; static size_t used;\n"
                  "extern \"C\" void* malloc(size_t n) { void* at = memory + used; used += (n + 15) / 16 * 16; return at; }\n"
                  "extern \"C\" void* calloc(size_t n, size_t m) { return malloc(n * m); }\n"
                  "extern \"C\" void* realloc(void*, size_t n) { return malloc(n); }\n"
                  "extern \"C\" void free(void*) {}\n"
                  "int main() { for (int i = 0; i < 1000; ++i) asm volatile(\"\" : : \"r\"(new int) : \"memory\"); }\n")
        code, _, err = self.heap_of(source)
        self.assertEqual(code, 3, err)
        self.assertIn("./a contains an allocator (a malloc that is linked statically): its heap is not recorded", err)

    def test_program_with_its_own_malloc_that_calls_the_next_one_is_recorded(self):
        source = ("#include <cstddef>\n#include <dlfcn.h>\nextern \"C\" void* malloc(size_t n) { static auto next = "
                  "reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_NEXT, \"malloc\")); return next(n); }\n"
                  "int main() { for (int i = 0; i < 1000; ++i) asm volatile(\"\" : : \"r\"(new int) : \"memory\"); }\n")
        code, heap, err = self.heap_of(source)
        self.assertEqual(code, 0, err)
        self.assertGreaterEqual(heap["allocations"], 1000)

    def test_setuid_program(self):
        if os.geteuid() != 0 or os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("setuid programs cannot be made here")
        self.folder.chmod(0o777)
        program = self.folder / "raised"
        shutil.copy(BIN / "busy", program)
        os.chown(program, 0, 0)
        program.chmod(0o4755)
        environment = {"PATH": "/usr/bin:/bin", "KYMO_SHM_DIR": str(self.folder)}
        words = [BIN / "kymo", "record", "--sampler", "timers", "-o", "run.kymo", "--", program, "one", "10"]
        done = subprocess.run(words, env=environment, user=NOBODY, group=NOBODY, extra_groups=[], cwd=self.folder,
                              capture_output=True, text=True, timeout=LIMIT)
        if done.returncode == 126 or "Permission denied" in done.stderr:
            self.skipTest("another user cannot reach the build: " + done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("has the rights of another user (setuid), and ignores the environment of Kymo", done.stderr)

    def test_user_hears_what_the_kernel_does_not_show(self):
        level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        if os.geteuid() != 0 or level != 2:
            self.skipTest(f"only root can be another user; kernel.perf_event_paranoid is {level} and not 2")
        self.folder.chmod(0o777)
        kymo, no_perf, busy = (shutil.copy(BIN / name, self.folder) for name in ("kymo", "no_perf", "busy"))
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": self.folder, "text": True,
                "env": {"PATH": "/usr/bin:/bin", "KYMO_SHM_DIR": str(self.folder)}}
        done = subprocess.run([kymo, "record", "-o", "run.kymo", "--", busy, "one", "100"], capture_output=True,
                              timeout=LIMIT, **user)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "timers inside the program" in done.stderr:
            self.skipTest(done.stderr)
        why = "functions of the kernel, stacks of waits, wake-ups: the kernel does not let this user sample the kernel"
        self.assertEqual(done.stderr.count("not recorded: " + why), 1, done.stderr)
        for words in (["info", "run.kymo"], ["report", "run.kymo"]):
            said = subprocess.run([kymo, *words], capture_output=True, timeout=LIMIT, **user)
            self.assertIn(why, " ".join(said.stdout.split()), said)
        said = subprocess.run([kymo, "doctor"], capture_output=True, timeout=LIMIT, **user)
        self.assertIn("without: functions of the kernel, stacks of waits, wake-ups", said.stdout)
        with subprocess.Popen(["sleep", "600"], **user) as own:
            self.addCleanup(own.kill)
            done = subprocess.run([no_perf, "1", kymo, "record", "--pid", str(own.pid), "-o", "pid.kymo"],
                                  capture_output=True, timeout=LIMIT, **user)
            own.kill()
        if done.returncode == 77:
            self.skipTest("seccomp: " + done.stderr)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("perf_event_open is forbidden here", done.stderr)

    def jail(self):
        if os.geteuid() != 0:
            self.skipTest("only root may change the root folder")
        jail = self.folder / "jail"
        jail.mkdir()
        _, out, _ = self.run_words("ldd", BIN / "busy")
        for library in re.findall(r"(/\S+) \(0x", out):
            copy = jail / library.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        shutil.copy(BIN / "busy", jail / "busy-inside")
        return jail

    # The path of the program is one of the container, so only the recorder can read the names.
    def test_container_with_other_files(self):
        jail = self.jail()
        err = self.record("chroot", jail, "/busy-inside", "threads", MILLISECONDS)
        shutil.rmtree(jail)
        self.assert_path(r"worker_one;busy_outer;busy_inner")
        self.assertEqual(self.functions()[1]["busy_inner"]["module"], "/busy-inside")

    def test_recording_inside_of_a_recording(self):
        self.record(BIN / "kymo", "record", "-o", "inner.kymo", "--", BIN / "busy", "one", MILLISECONDS)
        self.assertIn("busy_inner", self.functions()[1])
        self.assertIn("busy_inner", self.functions(file="inner.kymo")[1])

    # Of two installations, the program gets the library of the one that records.
    def test_two_copies_of_kymo(self):
        copy = self.folder / "copy"
        for folder in ("bin", "lib"):
            (copy / folder).mkdir(parents=True)
        shutil.copy(BIN / "kymo", copy / "bin")
        for library in (BIN.parent / "lib").glob("libkymo*.so*"):
            shutil.copy(library, copy / "lib", follow_symlinks=False)
        code, out, err = self.run_words(copy / "bin" / "kymo", "record", "--sampler", "timers", "-o", "inner.kymo", "--",
                                        BIN / "kymo", "record", "--sampler", "timers", "-o", "run.kymo", "--", "sh", "-c",
                                        "echo $LD_PRELOAD $NVTX_INJECTION64_PATH")
        self.assertEqual(code, 0, err)
        self.assertIn(str(BIN.parent / "lib" / "libkymo_sample.so"), out)

    def test_program_that_sets_variables_of_interfaces(self):
        script = ("export NVTX_INJECTION64_PATH=/gone.so OPENCL_LAYERS=/gone.so VK_INSTANCE_LAYERS= LD_PRELOAD= "
                  f"OMP_TOOL_LIBRARIES=/gone.so; exec {BIN / 'busy'} one {MILLISECONDS}")
        self.record("sh", "-c", script)
        self.assertIn("busy_inner", self.functions()[1])

    def test_program_that_closes_all_files_and_clears_its_environment(self):
        script = f"exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; exec env -i {BIN / 'busy'} fork {MILLISECONDS}"
        self.record("sh", "-c", script)
        self.assert_path(r"main;child_work;busy_outer;busy_inner")


if __name__ == "__main__":
    unittest.main(verbosity=1)
