#!/usr/bin/env python3
"""Checks the answers of `kymo` about one topic, for many seeds: run.py TOPIC [--seed N]

$KYMO_TRUTH_SEEDS says how many (default: 30). --seed runs one, and keeps its traces in the current folder.
"""

import argparse
import importlib
import os
import pathlib
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
from kit import Case  # noqa: E402


def check(topic, seed, folder):
    case = Case(seed, folder)
    try:
        topic.check(case)
    except Exception:  # an answer that lacks a field is a wrong answer
        case.wrong.append(traceback.format_exc())
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topic")
    parser.add_argument("--seed", type=int)
    words = parser.parse_args()
    topic = importlib.import_module(words.topic)
    seeds = range(int(os.environ.get("KYMO_TRUTH_SEEDS", "30"))) if words.seed is None else [words.seed]
    wrong = checked = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="kymo-truth-") as folder:
            case = check(topic, seed, folder if words.seed is None else pathlib.Path.cwd())
        checked += case.checked
        wrong += bool(case.wrong)
        for what in case.wrong[:10 if wrong < 4 else 1]:
            print(f"seed {seed}: {what}")
        if len(case.wrong) > 10:
            print(f"seed {seed}: and {len(case.wrong) - 10} more")
    # A topic may allow a share of the seeds to be wrong, where the answer itself is a matter of chance.
    allowed = int(getattr(topic, "ALLOWED_SHARE", 0) * len(seeds))
    print(f"{words.topic}: {checked} answers of {len(seeds)} seeds, {wrong} seeds with wrong answers, {allowed} allowed")
    return 1 if wrong > allowed or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
