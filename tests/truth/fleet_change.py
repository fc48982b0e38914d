"""Did last night's change make it slower? Hourly traces of a job with a little noise, in every store."""

import datetime
import time

from kit import Trace
from stores import ask, check_cut, cut, stores

HOUR = 3_600 * 10**9
# One in a hundred series without a change has one by chance.
ALLOWED_SHARE = 0.05


def check(case):
    hours = case.random.choice([48, 72])
    last = case.random.choice([5, 6, 8]) if case.seed % 3 else 0  # hours since the change; 0: there is none
    change, noise = case.random.uniform(0.03, 0.06), 0.004
    step = case.random.randrange(5_000_000, 50_000_000)
    now = time.time_ns() - 120 * 10**9
    files, cuts = [], case.random.randrange(4)
    for hour in range(hours + cuts):  # the last ones are cut off, and would be a change
        base = now - (hours - 1 - hour) * HOUR if hour < hours else now - (2 * (hour - hours) + 1) * HOUR // 2
        trace = Trace(base_ns=base, distributedInfo={"rank": 0, "world_size": 1})
        main = trace.thread(100, 100, "main")
        slower = 2 if hour >= hours else 1 + change if hour >= hours - last else 1
        at = 0
        for number in range(2):
            length = int(step * slower * case.random.gauss(1, noise))
            main.range(f"ProfilerStep#{10 * hour + number}", at, at + length)
            main.range("aten::mm", at + 1000, at + length // 2, cat="cpu_op")
            at += length
        files.append(cut(case, trace, hour) if hour >= hours else trace.write(case.folder / f"{hour}.json"))
    urls = stores(case, [files, "--job", "train"])
    if not urls:
        return
    limit = ["--fail-above", "2%"]
    history = ask(case, urls, "history", "--since", f"{hours}h", *limit, exit_code=1 if last else 0)
    answer = ask(case, urls, "diff", "--since", f"{hours // 2}h", *limit, exit_code=1 if last else 0)
    check_cut(case, history, cuts)
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
