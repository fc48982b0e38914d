#!/usr/bin/env python3
"""Commands with --hosts, against real ssh servers: each host has its own kymod, boot id, name and clock."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from waiting import wait_until

SKIPPED = 77
OFFSETS = [0, 3600, -7, 86400]  # seconds that the clock of each host is ahead
PROGRAMS = 2  # on each host


def why_skipped():
    if os.geteuid() != 0:
        return "only root can make hosts with clocks and names of their own"
    for program in ("/usr/sbin/sshd", "ssh", "ssh-keygen", "unshare"):
        if shutil.which(program) is None:
            return f"{program} is not installed (scripts/install-deps test)"
    if not faketime():
        return "libfaketime is not installed (scripts/install-deps test)"
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return "mount namespaces are not allowed here"
    return None


def faketime():
    found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(found[0]) if found else ""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Hosts:
    """Ssh servers on ports of loopback, and a configuration for ssh that gives them names. With a bridge, each host has a
    network of its own instead: an interface that is connected to this bridge, and an address in 10.88.0.0/16."""

    def __init__(self, build, folder, bridge=None, program="serves"):
        self.build, self.folder, self.servers = build, folder, []
        self.bridge, self.program = bridge, program
        self.config = folder / "ssh_config"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
        self.config.write_text("")

    def add_name(self, name, port, address="127.0.0.1"):
        with self.config.open("a") as config:
            config.write(
                f"Host {name}\n  HostName {address}\n  Port {port}\n  User root\n  IdentityFile {self.folder}/key\n"
                f"  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile {self.folder}/known\n"
                "  LogLevel ERROR\n"
            )

    def add(self, name, offset=0, path="", programs=PROGRAMS, own_pids=False, started=""):
        number = len(self.servers) + 2
        address = f"10.88.{number // 250}.{number % 250 + 1}" if self.bridge else "127.0.0.1"
        port = 22 if self.bridge else free_port()
        home = self.folder / name
        home.mkdir()
        (home / "boot_id").write_text(f"{len(self.servers):08x}-0000-4000-8000-000000000000\n")
        bin_folder = path or self.build / "bin"
        fake = f"LD_PRELOAD={faketime()} FAKETIME={offset:+d} FAKETIME_DONT_FAKE_MONOTONIC=1" if offset else ""
        (home / "sshd_config").write_text(
            f"Port {port}\nListenAddress {address}\nHostKey {self.folder}/key\nPidFile none\nStrictModes no\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/key.pub\nPermitRootLogin yes\nMaxStartups 100\n"
            f"SetEnv PATH={bin_folder}:/usr/bin:/bin XDG_RUNTIME_DIR=/run/user HOME={home} {fake}\n"
        )
        (home / "start").write_text(
            "set -e\n"
            + (f"touch {home}/waits; until ip addr add {address}/16 dev eth0 2> /dev/null; do sleep 0.05; done\n"
               "ip link set eth0 up; ip link set lo up\n" if self.bridge else "") +
            f"hostname {name}\n"
            "mount -t tmpfs tmpfs /run; mkdir -p /run/sshd /run/user; mount -t tmpfs tmpfs /dev/shm\n"
            f"mount --bind {home}/boot_id /proc/sys/kernel/random/boot_id\n"
            f"cd {home}\n"
            f"export HOME={home} XDG_RUNTIME_DIR=/run/user {fake}\n"
            f"{self.build}/bin/kymod > kymod.log 2>&1 &\n"
            f"for i in $(seq {programs}); do KYMO_DAEMON=1 {self.build}/bin/{self.program} > serves.log 2>&1 & done\n"
            f"{started}\n"
            "unset LD_PRELOAD FAKETIME\n"
            f"exec /usr/sbin/sshd -D -e -f {home}/sshd_config\n"
        )
        log = (home / "sshd.log").open("w")
        separate = ["-m", "-u", *(["-n"] if self.bridge else []), *(["-p", "-f", "--mount-proc"] if own_pids else [])]
        self.servers.append(
            subprocess.Popen(["unshare", *separate, "sh", home / "start"], stdout=log, stderr=log, start_new_session=True)
        )
        if self.bridge:
            wait_until((home / "waits").exists, f"{name} has a network", (home / "sshd.log").read_text)
            link = f"kymo{number}"
            for words in (["link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.servers[-1].pid],
                          ["link", "set", link, "master", self.bridge, "up"]):
                subprocess.run(["ip", *map(str, words)], check=True)
        self.add_name(name, port, address)
        wait_until(lambda: answers(port, address), f"sshd of {name}", (home / "sshd.log").read_text)
        return home

    def close(self):
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()

    def kymo(self, *words):
        # One connection per command: the sockets of ssh's masters would keep the hosts of an earlier test.
        ssh = f"ssh -F {self.config} -o ControlMaster=no -o ControlPath=none"
        # On a busy machine the hosts, which are all here, need more than the usual 5 s for an answer.
        patience = [] if "--host-timeout" in words else ["--host-timeout", "60s"]
        words = [self.build / "bin" / "kymo", words[0], "--ssh", ssh, *patience, *words[1:]]
        return subprocess.run(words, capture_output=True, text=True, timeout=600)


def answers(port, address="127.0.0.1"):
    with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
        return True
    return False


def expect(condition, what):
    if not condition:
        raise SystemExit(f"hosts_test: {what}")


def check_traces(hosts, folder):
    """All programs of all hosts are traced at the same time; the clocks are measured; the files arrive."""
    names = f"node[0-{len(OFFSETS) - 1}]"
    wait_until(
        lambda: hosts.kymo("ps", "--hosts", names).stdout.count("serves") >= PROGRAMS * len(OFFSETS),
        "all programs are connected",
    )
    fetched = folder / "fetched"
    done = hosts.kymo("trigger", "--hosts", names, "--all", "--duration", "300ms", "--fetch", fetched, "--json")
    expect(done.returncode == 0, f"trigger: {done.returncode} {done.stderr} {done.stdout}")
    answer = json.loads(done.stdout)
    by_host = {host["host"]: host for host in answer["hosts"]}
    expect(sorted(by_host) == [f"node{i}" for i in range(len(OFFSETS))], done.stdout)
    for i, offset in enumerate(OFFSETS):
        host = by_host[f"node{i}"]
        error = host["clock_offset_ns"] - offset * 10**9
        expect(abs(error) <= host["clock_error_ns"], f"node{i}: off by {error}, stated {host['clock_error_ns']}")
        expect(len(host["targets"]) == PROGRAMS, host)
        for target in host["targets"]:
            expect(target["state"] == "finished" and target["events"] > 0, target)
            expect(pathlib.Path(target["fetched"]).stat().st_size >= target["bytes"], target)

    files = sorted(str(one) for one in fetched.glob("*/*.kymo"))
    expect(len(files) == PROGRAMS * len(OFFSETS), files)
    merged = folder / "all.kymo"
    done = subprocess.run(
        [hosts.build / "bin" / "kymo", "merge", *files, "-o", merged, "--json"], capture_output=True, text=True
    )
    expect(done.returncode == 0, done.stderr)
    ranks = json.loads(done.stdout)["ranks"]
    by = [rank["by"] for rank in ranks]
    expect(by.count("measured by ssh") == PROGRAMS * (len(OFFSETS) - 1), by)
    # All hosts are one machine here, so the traces must lie on top of each other.
    info = json.loads(
        subprocess.run([hosts.build / "bin" / "kymo", "info", "--json", merged], capture_output=True, text=True).stdout
    )
    expect(info["duration_ns"] < 600e9, f"the merged trace lasts {info['duration_ns']} ns")


def check_shared_folder(hosts, folder):
    """Hosts that share their folders and have the same pids: each trace is there, and is that of its host."""
    shared = folder / "shared"
    shared.mkdir()
    names = [f"same{i}" for i in range(6)]
    for i, name in enumerate(names):
        hosts.add(name, offset=60 * i, own_pids=True)
    all_hosts = ",".join(names)
    wait_until(lambda: hosts.kymo("ps", "--hosts", all_hosts).stdout.count("serves") >= PROGRAMS * len(names),
               "all programs with the same pids are connected")
    for round, pattern in enumerate([[], ["-o", f"{shared}/{{name}}-{{pid}}.kymo"], ["-o", f"{shared}/{{name}}-{{pid}}.kymo"],
                                     ["-o", f"{shared}/{{pid}}.json"]]):
        done = hosts.kymo("trigger", "--hosts", all_hosts, "--all", "--duration", "200ms", "--fetch", folder / "same", "--json",
                          *pattern)
        expect(done.returncode == 0, done.stdout + done.stderr)
        targets = {host["host"]: host["targets"] for host in json.loads(done.stdout)["hosts"]}
        files = [target["file"] for name in names for target in targets[name]]
        expect(len(set(files)) == len(names) * PROGRAMS, f"a file for each trace: {files}")
        pids = [sorted(target["pid"] for target in targets[name]) for name in names]
        expect(pids.count(pids[0]) > 1, f"hosts with the same pids: {pids}")
        if not pattern:
            expect(all(f"-{name}-" in target["file"] for name in names for target in targets[name]), files)
        for name in names:
            for target in targets[name]:
                if not pattern:
                    pathlib.Path(target["file"]).unlink()
                if not target["fetched"].endswith(".kymo"):
                    continue
                info = subprocess.run([hosts.build / "bin" / "kymo", "info", "--json", target["fetched"]],
                                      capture_output=True, text=True, check=True)
                found = [process["host"] for process in json.loads(info.stdout)["processes"]]
                expect(set(found) == {name}, f"{target['fetched']} of {name} is of {found}")
    expect(len(list(shared.iterdir())) == 3 * len(names) * PROGRAMS, sorted(shared.iterdir()))
    expect(len(list((folder / "same").glob("*/*"))) == 4 * len(names) * PROGRAMS, sorted((folder / "same").glob("*/*")))


def check_other_commands(hosts):
    done = hosts.kymo("doctor", "--hosts", "node0,node1")
    expect("node0\n" in done.stdout and "node1\n" in done.stdout and "kymod" in done.stdout, done.stdout + done.stderr)
    done = hosts.kymo("trigger", "--status", "--hosts", "node1", "--json")
    expect(json.loads(done.stdout)["hosts"][0]["exit_code"] == 0, done.stdout)
    # What a command prints as JSON is a part of the JSON of all.
    for words in (["ps"], ["trigger", "--status"], ["doctor"], ["trigger", "--cancel", "all"]):
        done = hosts.kymo(*words, "--hosts", "node1", "--json")
        output = json.loads(done.stdout)["hosts"][0]["output"]
        expect(isinstance(output, (dict, list)) and output, done.stdout)
    # A host without a daemon has the reason, also as JSON.
    for words in ([], ["--json"]):
        done = hosts.kymo("ps", "--hosts", "node0", "--socket", "/no/such.sock", *words)
        expect(done.returncode == 1 and "/no/such.sock" in done.stdout, done.stdout + done.stderr)
    host = json.loads(done.stdout)["hosts"][0]
    expect(host["exit_code"] == 1 and "/no/such.sock" in host["errors"] and host["output"] == "", done.stdout)
    done = hosts.kymo("trigger", "--hosts", "node0", "--cancel", "all")
    expect(done.returncode == 3, f"nothing to cancel: {done.returncode} {done.stderr}")
    # The common start passes while the connections are made: the traces begin at once, and say how late they are.
    done = hosts.kymo("trigger", "--hosts", "node[0-1]", "--all", "--start-at", "+1ms", "--duration", "100ms", "--json")
    expect(done.returncode == 0, done.stdout + done.stderr)
    late = [target["late_ns"] for host in json.loads(done.stdout)["hosts"] for target in host["targets"]]
    expect(len(late) == 2 * PROGRAMS and min(late) > 0, done.stdout)
    done = hosts.kymo("trigger", "--hosts", "node0", "--name", "no-such-program")
    expect(done.returncode == 3 and "node0" in done.stdout, done.stdout + done.stderr)


def check_stacks(hosts, folder):
    """Processes of all hosts at the same place are one group; the rank that is elsewhere is named."""
    source, program = folder / "rank.c", folder / "planted"
    source.write_text("""#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void all_reduce(void) { for (;;) pause(); }
__attribute__((noinline)) void next_batch(void) { for (;;) sleep(1000); }
int main(void) { atoi(getenv("RANK")) == 4 ? next_batch() : all_reduce(); return 0; }
""")
    subprocess.run(["cc", "-O1", "-g", "-o", program, source], check=True)
    for host, ranks in (("ranks0", "0 1 2"), ("ranks1", "3 4 5")):  # a process can have only one debugger
        hosts.add(host, programs=0, own_pids=True,
                  started=f"for rank in {ranks}; do RANK=$rank SLURM_JOB_ID=4242 {program} & done")
    both = "ranks[0-1]"
    for words in (["--name", "planted"], ["--name", "plant*", "--job", "4242"]):
        wait_until(lambda: "next_batch" in hosts.kymo("stack", *words, "--hosts", both).stdout, "rank 4 sleeps")
        done = hosts.kymo("stack", *words, "--hosts", both)
        expect(done.returncode == 0, f"stack {words}: {done.returncode} {done.stderr} {done.stdout}")
        head, *groups = done.stdout.split("\n\n")
        expect(head.startswith("planted: 6 processes on 2 hosts, each stopped for at most "), done.stdout)
        expect(groups[0].startswith("5 ranks (0-3, 5): each waits in pause, in all_reduce\n"), done.stdout)
        expect(groups[1].startswith("rank 4 (planted ") and " on ranks1) waits in " in groups[1] and
               ", in next_batch\n" in groups[1], done.stdout)
    done = hosts.kymo("stack", "--name", "planted", "--hosts", both, "--json")
    processes = json.loads(done.stdout)
    expect([(one["host"], one["rank"]) for one in processes] == [(f"ranks{i // 3}", str(i)) for i in range(6)], done.stdout)
    expect(any(frame["function"] == "all_reduce" for frame in processes[0]["threads"][0]["frames"]), done.stdout)
    # A host that does not answer does not hide the others.
    hosts.add_name("away", free_port())
    done = hosts.kymo("stack", "--name", "planted", "--hosts", "away,ranks0")
    expect(done.returncode == 1 and "away: " in done.stderr and "3 ranks (0-2): each waits" in done.stdout,
           done.stdout + done.stderr)
    done = hosts.kymo("stack", "--name", "no-such-program", "--hosts", both)
    expect(done.returncode == 3 and "no process of name 'no-such-program'" in done.stderr, done.stdout + done.stderr)


def check_bad_hosts(hosts, folder):
    """Hosts that do not work are named with the reason, and do not disturb the others."""
    hosts.add_name("refuses", free_port())
    silent = socket.create_server(("127.0.0.1", 0))  # accepts, and says nothing
    hosts.add_name("hangs", silent.getsockname()[1])
    empty = folder / "bin-empty"
    empty.mkdir()
    hosts.add("bare", path=empty, programs=0)
    old = folder / "bin-old"
    old.mkdir()
    (old / "kymo").write_text("#!/bin/sh\necho \"kymo: unknown command '$1'\" >&2\nexit 2\n")
    (old / "kymo").chmod(0o755)
    hosts.add("old", path=old, programs=0)
    broken = folder / "bin-broken"
    broken.mkdir()
    (broken / "kymo").write_text("#!/bin/sh\necho 'kymo: error while loading shared libraries: libzstd.so.1' >&2\nexit 127\n")
    (broken / "kymo").chmod(0o755)
    hosts.add("broken", path=broken, programs=0)
    noisy = folder / "bin-noisy"
    noisy.mkdir()
    (noisy / "kymo").write_text(f"#!/bin/sh\necho Welcome to this host\nexec {hosts.build}/bin/kymo \"$@\"\n")
    (noisy / "kymo").chmod(0o755)
    hosts.add("noisy", path=noisy, programs=1)
    wait_until(lambda: "serves" in hosts.kymo("ps", "--hosts", "noisy").stdout, "a host whose shell prints a greeting")
    names = "refuses,hangs,bare,old,broken,noisy,node0"
    done = hosts.kymo("trigger", "--hosts", names, "--host-timeout", "30s", "--all", "--duration", "100ms")
    expect(done.returncode == 1, done.stdout)
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    expect("refused" in lines["refuses"], done.stdout)
    expect("failed" in lines["hangs"], done.stdout)
    expect("kymo was not found there" in lines["bare"], done.stdout)
    expect("unknown command 'remote'" in lines["old"], done.stdout)
    expect("kymo does not start there: kymo: error while loading shared libraries: libzstd.so.1" in lines["broken"],
           done.stdout)
    expect("finished" in lines["noisy"] and "finished" in lines["node0"], done.stdout)
    # A host that cannot be reached is more than one on which nothing matches.
    for words, code in [(["ps"], 1), (["trigger", "--status"], 1), (["doctor"], 1), (["trigger", "--cancel", "all"], 1),
                        (["trigger", "--name", "no-such-program"], 1)]:
        done = hosts.kymo(*words, "--hosts", "refuses,node0", "--json")
        expect(done.returncode == code, f"{words}: {done.returncode} {done.stdout}")
    asleep = folder / "ssh-asleep"
    asleep.write_text("#!/bin/sh\nexec sleep 600\n")
    asleep.chmod(0o755)
    done = subprocess.run([hosts.build / "bin" / "kymo", "ps", "--hosts", "node0", "--ssh", asleep, "--host-timeout", "1ms"],
                          capture_output=True, text=True, timeout=600)
    expect(done.returncode == 1 and "node0: no answer within 1.00 ms" in done.stderr, done.stderr)
    silent.close()


def check_bad_input(hosts, folder):
    for words, part in (
        (["--hosts", "node[1-"], "bracket"),
        (["--hosts", "-oProxyCommand=x"], "dash"),
        (["--hosts", "a;b"], "not a name"),
        (["--hosts", "n[9-1]"], "after"),
        (["--hosts", "n[1-999999]"], "more than"),
        (["--hosts-from", "/no/such/file"], "cannot read"),
        (["--hosts-from", str(folder)], "is a folder"),
        (["--hosts", "n[1-99999999999]"], "larger than"),
        (["--hosts", "a@b@c"], "'a@b@c' is not a name"),
        (["--host-timeout", "1s"], "--hosts"),
        (["--slurm", "x"], "not the number"),
        (["--hosts", "node0", "--host-timeout", "soon"], "soon"),
    ):
        done = hosts.kymo("ps", *words)
        expect(done.returncode in (1, 2) and part in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    done = hosts.kymo("trigger", "--all", "--fetch", folder / "x")
    expect(done.returncode == 2 and "--hosts" in done.stderr, done.stderr)


def remove_traces():
    for one in pathlib.Path("/tmp").glob("kymo-hosts-test-*.kymo"):
        one.unlink()


def check_interrupted_copy(hosts, folder):
    """What a copy that was interrupted left does not become a part of the next one."""
    fetched = folder / "again"
    words = ["trigger", "--hosts", "node0", "--all", "--duration", "200ms", "-o", "/tmp/kymo-hosts-test-{pid}.kymo"]
    done = hosts.kymo(*words, "--json")
    file = json.loads(done.stdout)["hosts"][0]["targets"][0]["file"]
    part = fetched / "node0" / (pathlib.Path(file).name + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * (1 << 19))  # one whole part of something else
    remove_traces()
    done = hosts.kymo(*words, "--fetch", fetched)
    expect(done.returncode == 0, done.stdout)
    expect(not part.exists(), "the part of an earlier copy is replaced")
    remove_traces()


def main():
    why = why_skipped()
    if why:
        print(f"hosts_test: {why}")
        return SKIPPED
    build = pathlib.Path(os.environ["KYMO_BINARY_DIR"])
    with tempfile.TemporaryDirectory(prefix="kymo-hosts-") as name:
        folder = pathlib.Path(name)
        hosts = Hosts(build, folder)
        try:
            for i, offset in enumerate(OFFSETS):
                hosts.add(f"node{i}", offset)
            check_bad_input(hosts, folder)
            check_traces(hosts, folder)
            check_shared_folder(hosts, folder)
            check_other_commands(hosts)
            check_stacks(hosts, folder)
            check_bad_hosts(hosts, folder)
            check_interrupted_copy(hosts, folder)
        finally:
            hosts.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
