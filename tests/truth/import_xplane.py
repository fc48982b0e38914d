"""Profiles of JAX (.xplane.pb): threads and queues with ranges of known lengths, launches and their work."""


def varint(number):
    number &= (1 << 64) - 1
    text = bytearray()
    while number >= 0x80:
        text.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*text, number])


def message(*fields):
    """Pairs of a field and its value: a number, a text or a message."""
    text = b""
    for field, value in fields:
        if isinstance(value, int):
            text += varint(field << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            text += varint(field << 3 | 2) + varint(len(value)) + value
    return text


class Plane:
    def __init__(self, name):
        self.name, self.lines, self.names = name, [], {}

    def event(self, name, begin, end, correlation=None):
        """Times are picoseconds from the begin of the line."""
        number = self.names.setdefault(name, len(self.names) + 1)
        stats = [(4, message((1, 1), (3, correlation)))] if correlation else []
        return message((1, number), (2, begin), (3, end - begin), *stats)

    def line(self, number, name, start_ns, events):
        self.lines.append(message((1, number), (2, name), (3, start_ns), *[(4, event) for event in events]))

    def text(self):
        return message((2, self.name), *[(3, line) for line in self.lines],
                       *[(4, message((1, number), (2, message((1, number), (2, name)))))
                         for name, number in self.names.items()],
                       (5, message((1, 1), (2, message((1, 1), (2, "correlation_id"))))))


def check(case):
    start = 1_700_000_000_000_000_000
    host, device = Plane("/host:CPU"), Plane("/device:GPU:0")
    totals, counts, work = {}, {}, {"copy": 0, "compute": 0}

    def note(name, begin, end):
        totals[name] = totals.get(name, 0) + end // 1000 - begin // 1000
        counts[name] = counts.get(name, 0) + 1

    offset = case.random.randrange(1_000_000)  # between the lines, in nanoseconds
    calls, kernels, time = [], [], 5_000_000
    for i in range(case.random.randrange(2, 60)):
        length = case.random.randrange(1_000, 5_000_000)
        call, name = f"launch {i % 3}", case.random.choice(["fusion.1", "gemm", "MemcpyH2D"])
        calls.append(host.event(call, time, time + length, i + 1))
        note(call, time, time + length)
        kernels.append(device.event(name, time, time + length, i + 1))
        note(name, time, time + length)
        work["copy" if name == "MemcpyH2D" else "compute"] += (time + length) // 1000 - time // 1000
        time += length + case.random.randrange(9_000_000)
    device.line(2, "Steps", start + offset, [device.event("step", 0, time)])
    note("step", 0, time)
    host.line(77, "python", start, calls)
    device.line(14, "Stream #14(Compute)", start + offset, kernels)
    planes = [host.text(), device.text()]
    case.random.shuffle(planes)
    path = case.folder / "host.xplane.pb"
    path.write_bytes(message(*[(1, plane) for plane in planes]))

    rows = case.json("stats", path, "--full-text")["rows"]
    case.equal("totals", {row["name"]: row["total_ns"] for row in rows}, totals)
    case.equal("counts", {row["name"]: row["count"] for row in rows}, counts)
    case.run("export", path, "-o", case.folder / "events.csv")
    lines = (case.folder / "events.csv").read_text().splitlines()[1:]
    found = {"copy": 0, "compute": 0}
    for line in lines:
        _, _, category, _, _, _, device_name, _, length, *_ = line.split(",")
        if device_name and category != "gpu_user_annotation":
            found["copy" if category == "gpu_memcpy" else "compute"] += int(length)
    case.equal("work of the device", found, work)
    case.true("launches are connected", sum(line.split(",")[11] == "1" for line in lines) == 2)
