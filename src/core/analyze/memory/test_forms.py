"""Checks a memory profile's exported forms by the rules of those that read them, and against each other.

    test_forms.py STEM [SNAPSHOT]

The files are STEM.json, STEM.json.gz, STEM.raw.json, STEM.raw.json.gz, STEM.pickle, as far as they are there. SNAPSHOT
is one that PyTorch wrote: ours has the same keys with values of the same types. Prints what the forms agree on, or the
first fault.
"""

import gzip
import json
import os
import pickle
import sys

SNAPSHOT_KEYS = {"segments", "device_traces", "allocator_settings", "external_annotations"}
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc"}
SEGMENT_KEYS = {"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
                "segment_type", "segment_pool_id", "is_expandable", "frames", "blocks"}
BLOCK_KEYS = {"address", "size", "requested_size", "state", "frames"}
EVENT_KEYS = {"action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "frames"}
CATEGORIES = 8


def check(holds, *what):
    if not holds:
        print("FAULT:", *what)
        sys.exit(1)


def read_json(path):
    with open(path) as file:
        text = file.read()
    if os.path.exists(path + ".gz"):
        with gzip.open(path + ".gz", "rt") as file:
            check(file.read() == text, path, "differs from its .gz")
    return json.loads(text)


def is_whole(value):
    return type(value) is int


def check_timeline(times, sizes):
    check(len(times) == len(sizes), "times and sizes differ in number")
    check(all(is_whole(time) for time in times), "a time is no whole number")
    check(all(a < b for a, b in zip(times, times[1:])), "times do not rise")
    for row in sizes:
        check(len(row) == 1 + CATEGORIES and row[0] == 0, "a row is", row)
        check(all(is_whole(value) and value >= 0 for value in row), "a row is", row)


def check_raw(raw):
    """Whether every return is of something there, by category; the rows that the timeline must have."""
    in_use, rows, last = [0] * CATEGORIES, {}, None
    for row in raw:
        check(len(row) == 4 and all(is_whole(value) for value in row), "a row is", row)
        time, action, size, category = row
        check(0 <= category < CATEGORIES, "category", row)
        check((time == -1) == (action == 1), "only what was there before has no time", row)
        if action == 1:
            check(last is None and size > 0, "what was there before comes first", row)
        else:
            check(action in (2, 4), "action", row)
            check(size >= 0 if action == 2 else size <= 0, "bytes", row)
            check(last is None or time >= last, "times fall at", row)
            last = time
        in_use[category] += size
        check(in_use[category] >= 0, "more was returned than taken", row)
        if action != 1:
            rows[time // 1000] = [0] + list(in_use)
    return rows, sum(in_use)


def check_frames(frames):
    for frame in frames:
        check(set(frame) == {"name", "filename", "line"}, "a frame is", frame)
        check(type(frame["name"]) is str and type(frame["filename"]) is str, "a frame is", frame)
        check(is_whole(frame["line"]), "a frame is", frame)


def check_segments(segments, devices):
    areas, alive = {device: [] for device in range(devices)}, {device: {} for device in range(devices)}
    for segment in segments:
        check(set(segment) == SEGMENT_KEYS, "keys of a segment:", sorted(segment))
        check(segment["device"] in areas and segment["segment_type"] in ("small", "large"), "a segment is", segment)
        check(type(segment["segment_pool_id"]) is tuple and len(segment["segment_pool_id"]) == 2, "pool id")
        check(segment["is_expandable"] is False, "is_expandable")
        check_frames(segment["frames"])
        at, active = segment["address"], 0
        for block in segment["blocks"]:
            check(set(block) == BLOCK_KEYS, "keys of a block:", sorted(block))
            check(block["address"] == at and block["size"] > 0, "blocks leave a gap at", hex(at))
            check(block["state"] in ("inactive", "active_allocated"), "state", block["state"])
            check_frames(block["frames"])
            at += block["size"]
            if block["state"] == "active_allocated":
                active += block["size"]
                alive[segment["device"]][block["address"]] = block["size"]
        check(at == segment["address"] + segment["total_size"], "blocks do not fill their segment")
        for key in ("allocated_size", "active_size", "requested_size"):
            check(segment[key] == active, key, segment[key], "is not the sum of blocks", active)
        areas[segment["device"]].append((segment["address"], segment["total_size"]))
    for device in areas:
        areas[device].sort()
        for (begin, size), (following, _) in zip(areas[device], areas[device][1:]):
            check(begin + size <= following, "segments overlap")
    return areas, alive


def check_trace(trace, areas, alive):
    """Replayed from the beginning: returns have their allocations, and what is left is what segments say."""
    mapped, taken, requested, last, peak, in_use = {}, {}, None, None, 0, 0
    for event in trace:
        check(set(event) == EVENT_KEYS, "keys of an event:", sorted(event))
        action, address, size = event["action"], event["addr"], event["size"]
        check(action in ACTIONS, "action", action)
        check(all(is_whole(event[key]) for key in ("addr", "size", "stream", "time_us")), "an event is", event)
        check(0 <= address < 2**63 and 0 <= size < 2**63, "numbers that viewers cannot reckon with", event)
        check(type(event["user_metadata"]) is str and type(event["compile_context"]) is str, "an event is", event)
        check_frames(event["frames"])
        check(last is None or event["time_us"] >= last, "times fall at", event)
        last = event["time_us"]
        check((requested is not None) == (action == "free_completed"), "a request and its completion stand together")
        if action == "segment_alloc":
            check(address not in mapped, "a segment twice", event)
            mapped[address] = size
        elif action == "alloc":
            check(address not in taken, "an address is taken twice", event)
            check(any(begin <= address < begin + length for begin, length in mapped.items()), "in no segment:", event)
            taken[address] = size
            in_use += size
            peak = max(peak, in_use)
        elif action == "free_requested":
            check(taken.get(address) == size, "a return of what was not taken", event)
            requested = address
        else:
            check(requested == address, "completes another one", event)
            in_use -= taken.pop(address)
            requested = None
    check(requested is None, "a request is not completed")
    check(sorted(mapped.items()) == areas, "segments that were made and those that are there differ")
    check({a: s for a, s in taken.items() if s} == alive, "what was not returned is not what blocks say")
    return peak


def types_of(value):
    """By path within the value, what types there are."""
    if type(value) is dict:
        return {(key, *path) for key, item in value.items() for path in types_of(item)} or {("{}",)}
    if type(value) is list:
        return {("[]", *path) for item in value for path in types_of(item)} or {("[]",)}
    return {(type(value).__name__,)}


def read_snapshot(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def check_like(snapshot, reference):
    for part in ("segments", "device_traces"):
        empty = {path for path in types_of(reference[part]) | types_of(snapshot[part]) if path[-1] == "[]"}
        ours, theirs = types_of(snapshot[part]) - empty, types_of(reference[part]) - empty
        check(ours == theirs, part, "differ from PyTorch's:", sorted(ours ^ theirs))


def check_snapshot(snapshot):
    check(set(snapshot) == SNAPSHOT_KEYS, "keys of the snapshot:", sorted(snapshot))
    check(type(snapshot["allocator_settings"]) is dict and type(snapshot["external_annotations"]) is list, "settings")
    traces = snapshot["device_traces"]
    areas, alive = check_segments(snapshot["segments"], len(traces))
    peaks = [check_trace(trace, areas[i], alive[i]) for i, trace in enumerate(traces)]
    return peaks, sum(sum(blocks.values()) for blocks in alive.values())


def main(stem, reference=None):
    times = sizes = None
    if os.path.exists(stem + ".json"):
        times, sizes = read_json(stem + ".json")
        check_timeline(times, sizes)
        print("timeline:", len(times), "rows, peak", max((sum(row) for row in sizes), default=0))
    if os.path.exists(stem + ".raw.json"):
        raw = read_json(stem + ".raw.json")
        rows, left = check_raw(raw)
        if times is not None and raw and raw[0][1] != 1:  # what was there before is in no timeline
            check([time for time in rows] == times, "times of the two forms differ")
            check(list(rows.values()) == sizes, "sizes of the two forms differ")
        used = sorted({row[3] for row in raw})
        print("raw:", len(raw), "rows of categories", *used, "left", left)
    if os.path.exists(stem + ".pickle"):
        snapshot = read_snapshot(stem + ".pickle")
        peaks, blocks = check_snapshot(snapshot)
        if reference is not None:
            check_like(snapshot, read_snapshot(reference))
        print("snapshot: peaks", *peaks, "left", blocks)


main(*sys.argv[1:])
