#!/usr/bin/env python3
"""How long one `kymo trigger --hosts` takes for many hosts, all on this machine, and whether their traces cover the span.

  KYMO_BINARY_DIR=build/release python3 bench/hosts.py [HOSTS [PROGRAMS]]      # 64 hosts with 4 programs each; as root

Each host has its own network, ssh server, kymod, name, boot id and clock. Its programs mostly sleep, as the host thread of
a program that waits for its device.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
import hosts_test  # noqa: E402

SPAN_SECONDS = 5
BRIDGE = "kymo0"
INSIDE = "KYMO_BENCH_HOSTS_INSIDE"


def info(kymo, file):
    return json.loads(subprocess.run([kymo, "info", "--json", file], capture_output=True, text=True, check=True).stdout)



def busy_seconds():
    """Of all processors: user, nice, system, irq, softirq."""
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(fields[i] for i in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def realtime_ahead():
    """Of the monotonic clock, from the reading that took the least time."""
    readings = []
    for _ in range(1000):
        before, now, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, now - (before + after) // 2))
    return min(readings)[1]


def uncovered(kymo, host, target, start_ns, ahead):
    """Nanoseconds of the span that the trace does not cover, beyond the stated error of the clock of its host. Here all
    hosts have the same monotonic clock, so the truth is known."""
    [window] = [process["window"] for process in info(kymo, target["fetched"])["processes"]]
    start = start_ns - ahead
    begin, end = window["from_monotonic_ns"] + max(0, target["late_ns"]), window["to_monotonic_ns"]
    missing = max(0, begin - start) + max(0, start + SPAN_SECONDS * 10**9 - end)
    return max(0, missing - host["clock_error_ns"])


def measure(count, programs):
    build = pathlib.Path(os.environ["KYMO_BINARY_DIR"]).resolve()
    kymo = build / "bin" / "kymo"
    subprocess.run(f"ip link set lo up; ip link add {BRIDGE} type bridge; ip addr add 10.88.0.1/16 dev {BRIDGE}; "
                   f"ip link set {BRIDGE} up", shell=True, check=True)
    with tempfile.TemporaryDirectory(prefix="kymo-bench-hosts-") as name:
        folder = pathlib.Path(name)
        hosts = hosts_test.Hosts(build, folder, bridge=BRIDGE, program="serves slowly")
        try:
            for i in range(count):
                hosts.add(f"node{i:03}", i * 10 % 70, programs=programs)
            names = f"node[000-{count - 1:03}]"
            hosts_test.wait_until(lambda: hosts.kymo("ps", "--hosts", names).stdout.count("serves slowly") == count * programs,
                                  "all programs are connected")
            idle_from, idle_at = busy_seconds(), time.monotonic()
            time.sleep(2)
            idle = (busy_seconds() - idle_from) / (time.monotonic() - idle_at)
            ahead = realtime_ahead()
            before, began = busy_seconds(), time.monotonic()
            done = hosts.kymo("trigger", "--hosts", names, "--all", "--duration", f"{SPAN_SECONDS}s", "--fetch",
                              folder / "fetched", "--json")
            wall, busy = time.monotonic() - began, busy_seconds() - before
            print(f"{count} hosts, {programs} programs each: {wall:.1f} s, {wall - SPAN_SECONDS:.1f} s beyond the span; "
                  f"{busy:.1f} s of processor, {idle:.2f} processors busy before", flush=True)
            if done.returncode != 0:
                print(done.stderr[-2000:])
            answer = json.loads(done.stdout)
            good, late, missing, errors, lost = 0, [], [], [], 0
            for host in answer["hosts"]:
                if "error" in host:
                    print(f"  {host['host']}: {host['error']}")
                for target in host["targets"]:
                    if target["state"] != "finished":
                        print(f"  {host['host']}: {target['state']} {target.get('text', '')}")
                        continue
                    good += 1
                    late.append(target["late_ns"])
                    lost += target.get("lost", 0)
                    errors.append(host["clock_error_ns"])
                    missing.append(uncovered(kymo, host, target, answer["start_ns"], ahead))
            print(f"  {good} traces of {count * programs}; {sum(one == 0 for one in missing)} cover the span within the "
                  f"stated error of the clock (most missing {max(missing) / 1e3:.3f} µs); late at most "
                  f"{max(late) / 1e6:.3f} ms; clock error median {sorted(errors)[len(errors) // 2] / 1e6:.3f} ms, most "
                  f"{max(errors) / 1e6:.3f} ms; {lost} events lost")
            return 0 if good == count * programs and not any(missing) else 1
        finally:
            hosts.close()


def main():
    why = hosts_test.why_skipped()
    if why:
        print(f"bench/hosts.py: {why}")
        return 1
    if INSIDE not in os.environ:  # in a network of its own, where the bridge disturbs nobody
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-n", "-m", sys.executable, *sys.argv])
    count, programs = (int(word) for word in (sys.argv[1:] + ["64", "4"][len(sys.argv) - 1:]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    return measure(count, programs)


if __name__ == "__main__":
    sys.exit(main())
