"""Did last night's change make it slower? Hourly traces of a job with a little noise, in a folder of Parquet files."""

import datetime
import subprocess
import time

from kit import BIN, Trace

HOUR = 3_600 * 10**9
# One in a hundred series without a change has one by chance.
ALLOWED_SHARE = 0.05


def check(case):
    if not (BIN.parent / "libexec/kymo/kymo-fleet").exists():
        case.true("the fleet is not built", True)
        return
    hours = case.random.choice([48, 72])
    last = case.random.choice([5, 6, 8]) if case.seed % 3 else 0  # hours since the change; 0: there is none
    change, noise = case.random.uniform(0.03, 0.06), 0.004
    step = case.random.randrange(5_000_000, 50_000_000)
    now = time.time_ns() - 120 * 10**9
    files = []
    for hour in range(hours):
        base = now - (hours - 1 - hour) * HOUR
        trace = Trace(base_ns=base, distributedInfo={"rank": 0, "world_size": 1})
        main = trace.thread(100, 100, "main")
        slower = 1 + change if hour >= hours - last else 1
        at = 0
        for number in range(2):
            length = int(step * slower * case.random.gauss(1, noise))
            main.range(f"ProfilerStep#{10 * hour + number}", at, at + length)
            main.range("aten::mm", at + 1000, at + length // 2, cat="cpu_op")
            at += length
        files.append(trace.write(case.folder / f"{hour}.json"))
    url = f"parquet:{case.folder}/store"
    pushed = subprocess.run([BIN / "kymo", "push", *files, url, "--job", "train", "-q"], capture_output=True, text=True)
    if "DuckDB" in pushed.stderr:
        case.true("cannot be checked without DuckDB", True)
        return
    case.true(f"push: {pushed.stderr}", pushed.returncode == 0)
    where = ["--db", url, "--job", "train"]
    history = case.json("fleet", "history", *where, "--since", f"{hours}h", "--fail-above", "2%", exit_code=1 if last else 0)
    diff = ["fleet", "diff", *where, "--since", f"{hours // 2}h", "--fail-above", "2%"]
    answer = case.json(*diff, exit_code=1 if last else 0)
    slower = [row for row in history["rows"] if row["shift_ns"] > 0.02 * row["before_ns"]]
    if not last:
        case.equal("changes", len(slower), 0)
        case.true(f"the smallest change is said: {history['notes']}", any("would have been found" in note for note in
                                                                          history["notes"]))
        return
    case.equal("changes", len(slower), 1)
    case.at_most("distance of the change from its hour", abs(slower[0]["time"] - (now - (last - 1) * HOUR) / 1e9), 60)
    case.true(f"size {slower[0]['shift_ns'] / slower[0]['before_ns']} is near {change}",
              abs(slower[0]["shift_ns"] / slower[0]["before_ns"] - change) < 0.01)
    began = datetime.datetime.fromtimestamp((now - (last - 1) * HOUR) / 1e9, datetime.timezone.utc)
    case.true(f"diff says when: {answer['notes']}", any(began.strftime("%H:%M") in note for note in answer["notes"]))
