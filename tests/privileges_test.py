#!/usr/bin/env python3
"""Programs with raised privileges, and programs that give theirs up: what they believe, and what is kept of them."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

SKIPPED = 77
NOBODY = 65534


def main():
    if os.geteuid() != 0:
        print("privileges_test: only root can change users")
        return SKIPPED
    build = pathlib.Path(os.environ["KYMO_BINARY_DIR"])
    os.environ["KYMO_SAMPLE"] = "off"  # this is about annotations
    with tempfile.TemporaryDirectory(prefix="kymo-privileges-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        check_setuid(build, folder)
        check_change_of_user(build, folder)
        check_jails(build, folder)
    return 0


def check_setuid(build, folder):
    """A setuid program loads no library and writes no file that its caller's environment names."""
    program = folder / "annotates"
    shutil.copy(build / "bin" / "annotates_static", program)
    os.chown(program, 0, 0)
    program.chmod(0o4755)
    trace = folder / "root.kymo"
    memory = folder / "memory"
    memory.mkdir(mode=0o777)
    memory.chmod(0o777)
    environment = {"KYMO_TRACE": str(trace), "KYMO_SHM_DIR": str(memory), "KYMO_SESSION": "0" * 32, "PATH": "/usr/bin"}
    done = subprocess.run([str(program)], env=environment, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
                          capture_output=True, text=True, timeout=600)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        print("privileges_test: setuid programs do not work in", folder)
    assert not trace.exists(), done
    assert not any(memory.iterdir()), list(memory.iterdir())


def check_change_of_user(build, folder):
    """What a child records after it gave up root's rights is in the trace of the process that it comes from.

    So is what a program records that such a child starts.
    """
    memory = folder / "own"
    memory.mkdir(mode=0o777)
    memory.chmod(0o1777)
    for how, mode, name in (("record", "user", "child"), ("trace", "user", "child"), ("record", "user-exec", "leaf"),
                            ("trace", "user-exec", "leaf")):
        trace = folder / f"{how}-{mode}.kymo"
        environment = dict(os.environ, KYMO_SHM_DIR=str(memory))
        command = [str(build / "bin" / "forks"), mode, "100"]
        if how == "record":
            command = [str(build / "bin" / "kymo"), "record", "--quiet", "-o", str(trace), "--", *command]
        else:
            environment["KYMO_TRACE"] = str(trace)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done
        stats = subprocess.run([str(build / "bin" / "kymo"), "stats", str(trace), "--strict"], env=environment,
                               capture_output=True, text=True, timeout=600)
        assert stats.returncode == 0, stats
        assert any(name in line and " 100 " in line for line in stats.stdout.splitlines()), (how, mode, stats.stdout)
        left = [path for path in memory.rglob("*") if stat.S_ISREG(path.stat().st_mode)]
        assert not left, left


def put_into(jail, program):
    """Copies a program there, with the libraries that it needs."""
    shutil.copy(program, jail)
    for word in subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.split():
        if word.startswith("/"):
            (jail / word[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, jail / word[1:])


def check_jails(build, folder):
    """What a process does that sees other files is not in the trace, and the trace says so. Nothing is left behind."""
    kymo = str(build / "bin" / "kymo")
    memory = folder / "shm"
    memory.mkdir(mode=0o1777)
    environment = dict(os.environ, KYMO_SHM_DIR=str(memory))
    for has_memory in (False, True):
        jail = folder / f"jail-{has_memory}"
        jail.mkdir()
        put_into(jail, build / "bin" / "annotates_static")
        if has_memory:  # a folder of the same name that is not the same
            jail.joinpath(*memory.parts[1:]).mkdir(parents=True)
        for how in ("record", "trace", "exec"):
            trace = folder / f"{jail.name}-{how}.kymo"
            command = [str(build / "bin" / "forks"), "jail", "100", str(jail)]
            if how == "exec":
                command = ["chroot", str(jail), "/annotates_static"]
            if how == "trace":
                done = subprocess.run(command, env=dict(environment, KYMO_TRACE=str(trace)), capture_output=True,
                                      text=True, timeout=600)
            else:
                done = subprocess.run([kymo, "record", "-o", str(trace), "--", *command], env=environment,
                                      capture_output=True, text=True, timeout=600)
                assert "could not record" in done.stderr, done
            assert done.returncode == 0, done
            info = subprocess.run([kymo, "info", str(trace), "--strict", "--json"], env=environment,
                                  capture_output=True, text=True, timeout=600)
            assert info.returncode != 0, (how, info)
            losses = json.loads(info.stdout)["losses"]
            unrecorded = sum(loss["count"] for loss in losses if loss["cause"] == "unrecorded")
            assert unrecorded == (1 if how == "exec" else 2), (how, losses)  # a child, and a child of that
            left = [path for place in (memory, jail) for path in place.rglob("kymo-*/*") if path.is_file()]
            assert not left, (how, left)


sys.exit(main())
