#!/usr/bin/env python3
"""`kymo trigger` in an allocation of a real Slurm, and `--slurm JOB` from outside. All daemons run in a folder of their own."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hosts_test  # noqa: E402
from hosts_test import SKIPPED, expect, free_port  # noqa: E402
from waiting import wait_until  # noqa: E402

CONFIG = """ClusterName=kymo
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=1
CompleteWait=0
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
NodeName=node0 NodeHostname={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def why_skipped():
    for program in ("slurmctld", "slurmd", "munged", "srun", "sbatch"):
        if shutil.which(program) is None:
            return f"{program} is not installed (scripts/install-deps slurm)"
    return hosts_test.why_skipped()


class Slurm:
    def __init__(self, folder):
        self.folder, self.processes = folder, []
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(64))
        (folder / "munge.key").chmod(0o600)
        (folder / "slurm.conf").write_text(CONFIG.format(
            host=socket.gethostname(), folder=folder, controller=free_port(), node=free_port()))
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def start(self, *words):
        with open(self.folder / "output", "ab") as output:
            self.processes.append(subprocess.Popen([str(word) for word in words], stdout=output, stderr=output,
                                                   env=self.environment, start_new_session=True))

    def run(self, *words, check=True):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=self.environment,
                              timeout=600)
        if check:
            expect(done.returncode == 0, f"{words}: {done.returncode} {done.stdout} {done.stderr} {self.logs()}")
        return done

    def logs(self):
        return "\n".join(path.read_text(errors="replace")[-3000:]
                         for path in [self.folder / "output", *self.folder.glob("*.log")] if path.exists())

    def open(self):
        self.start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
                   f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munge.pid",
                   f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        wait_until((self.folder / "munge.socket").exists, "munged starts", self.logs)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", "node0")
        wait_until(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T", check=False).stdout,
                   "the node is idle", self.logs)

    def close(self):
        self.run("scancel", "--user=root", check=False)
        # Its steps end before its daemons, or they stay.
        try:
            wait_until(lambda: self.run("squeue", "--noheader", check=False).stdout.strip() == "", "the jobs end")
        finally:
            for process in reversed(self.processes):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def check(build, folder):
    slurm, hosts = Slurm(folder), hosts_test.Hosts(build, folder)
    daemon = folder / "kymod.sock"
    job_script = folder / "job"
    job_script.write_text(f"#!/bin/sh\n{build}/bin/kymo daemon --socket {daemon} &\n"
                          f"export KYMO_DAEMON={daemon}\nexec srun --overlap {build}/bin/serves slowly\n")
    try:
        slurm.open()
        job = slurm.run("sbatch", "--parsable", "--job-name", "train it", "--ntasks", 2, "--overcommit", "--output",
                        folder / "job.out", job_script).stdout.strip()
        # Inside the allocation, without further settings but the daemon's place.
        srun = ["srun", "--overlap", "--jobid", job, "--ntasks", 1, "env", f"KYMO_DAEMON={daemon}", build / "bin" / "kymo"]
        wait_until(lambda: slurm.run(*srun, "ps", check=False).stdout.count("serves slowly") == 2,
                   f"both tasks are connected: {(folder / 'job.out').read_text() if (folder / 'job.out').exists() else ''}")
        done = slurm.run(*srun, "trigger", "--all", "--duration", "200ms", "-o", folder / "in-{pid}.kymo", "--json")
        targets = json.loads(done.stdout)["targets"]
        expect([target["state"] for target in targets] == ["finished"] * 2, done.stdout)

        # The job and the ranks come from Slurm's variables.
        store = f"parquet:{folder}/store"
        files = sorted(folder.glob("in-*.kymo"))
        done = subprocess.run([build / "bin" / "kymo", "push", *files, store], capture_output=True, text=True)
        if "DuckDB is not installed" not in done.stderr:
            expect(done.returncode == 0, done.stderr)
            done = subprocess.run([build / "bin" / "kymo", "fleet", "top", "--db", store, "--job", "train it", "--json"],
                                  capture_output=True, text=True)
            rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
            expect(rows["request"]["ranks"] == 2 and rows["request"]["traces"] == 2, done.stdout)

        # From outside, by ssh to the hosts of the job.
        hosts.add("node0")
        slurm_hosts = ["--slurm", job]
        os.environ["SLURM_CONF"] = slurm.environment["SLURM_CONF"]
        wait_until(lambda: "serves" in hosts.kymo("ps", *slurm_hosts).stdout, "the host of the job is found")
        done = hosts.kymo("trigger", *slurm_hosts, "--all", "--duration", "200ms", "--fetch", folder / "fetched")
        expect(done.returncode == 0 and "node0" in done.stdout, done.stdout + done.stderr)
        done = hosts.kymo("ps", "--slurm", "999999")
        expect(done.returncode in (1, 2) and "999999" in done.stderr, f"an unknown job: {done.returncode} {done.stderr}")
        slurm.run("scancel", job)
        wait_until(lambda: "does not run" in hosts.kymo("ps", *slurm_hosts).stderr, "a job that ended has no hosts")
    finally:
        slurm.close()
        hosts.close()


def main():
    why = why_skipped()
    if why:
        print(f"slurm_test: SKIPPED: {why}")
        return SKIPPED
    build = pathlib.Path(os.environ["KYMO_BINARY_DIR"]).resolve()
    with tempfile.TemporaryDirectory(prefix="kymo-slurm-") as name:
        check(build, pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
