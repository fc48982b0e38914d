"""The time of a recording by name, as profile.key_averages() returns it."""
import dataclasses
import json
import statistics

from kymo import command
from kymo.errors import InvalidArgument


@dataclasses.dataclass(frozen=True)
class EventAverage:
    """All ranges with one name. Times are in microseconds, as in torch.profiler."""

    key: str
    count: int
    total_us: float
    self_us: float
    min_us: float
    median_us: float
    max_us: float
    on_device: bool
    category: str
    launched_us: float = 0.0  # of the work on devices that it launched, and what is inside of it
    self_launched_us: float = 0.0
    cpu_memory_usage: int = 0  # bytes that it allocated and did not free
    self_cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0
    input_shapes: str = ""
    stack: tuple = ()

    @property
    def cpu_time_total(self):
        return 0.0 if self.on_device else self.total_us

    @property
    def self_cpu_time_total(self):
        return 0.0 if self.on_device else self.self_us

    @property
    def device_time_total(self):
        return self.total_us if self.on_device else self.launched_us

    @property
    def self_device_time_total(self):
        return self.self_us if self.on_device else self.self_launched_us

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self):
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time_total, self_cuda_time_total, cuda_time = device_time_total, self_device_time_total, device_time


class _Row:
    """The ranges of one name, while they are added up."""

    def __init__(self):
        self.durations, self.self_us, self.launched, self.self_launched = [], 0.0, 0.0, 0.0
        self.memory = [0, 0, 0, 0]  # of the host, of the host itself, of devices, of devices itself
        self.category, self.on_device = "", False


def _is_device_work(event):
    return "stream" in event.get("args", {}) and "External id" in event["args"]


def of_events(events, by_shape=False, stack_n=0):
    """Averages of events of a Chrome trace by name, and by the shapes of inputs and the innermost functions of Python.

    Work on a device belongs to the range that launched it, and an allocation to the range that was open then.
    """
    rows, launched, threads = {}, {}, {}
    for event in events:
        if event["ph"] == "X" and _is_device_work(event):
            number = event["args"]["External id"]
            launched[number] = launched.get(number, 0.0) + event.get("dur", 0.0)
            row = rows.setdefault((event["name"], "", ()), _Row())
            row.durations.append(event.get("dur", 0.0))
            row.self_us += event.get("dur", 0.0)
            row.category, row.on_device = event.get("cat", ""), True
        elif event["ph"] == "X" or event["name"] == "[memory]":
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    for list_of_thread in threads.values():
        list_of_thread.sort(key=lambda event: (event["ts"], -event.get("dur", -1.0)))
        open_ranges = []  # (end, row, event)
        for event in list_of_thread:
            while open_ranges and open_ranges[-1][0] <= event["ts"]:
                open_ranges.pop()
            above = {id(row): row for _, row, _ in open_ranges}.values()
            if event["ph"] != "X":
                args = event["args"]
                place = 0 if args.get("Device Type", 0) == 0 and args.get("device", "cpu") in ("cpu", "host", "heap") else 2
                for row in above:
                    row.memory[place] += args.get("Bytes", args.get("bytes", 0))
                if open_ranges:
                    open_ranges[-1][1].memory[place + 1] += args.get("Bytes", args.get("bytes", 0))
                continue
            args, duration = event.get("args", {}), event.get("dur", 0.0)
            stack = tuple(one["name"] for _, _, one in reversed(open_ranges) if one.get("cat") == "python")[:stack_n]
            row = rows.setdefault((event["name"], str(args.get("Input Dims", "")) if by_shape else "", stack), _Row())
            row.durations.append(duration)
            row.self_us += duration
            row.category = event.get("cat", "")
            if open_ranges:
                open_ranges[-1][1].self_us -= duration
            device_us = launched.get(args.get("External id"), 0.0) if "correlation" not in args else 0.0
            row.self_launched += device_us
            for one in {id(row): row, **{id(one): one for one in above}}.values():
                one.launched += device_us
            open_ranges.append((event["ts"] + duration, row, event))
    found = EventAverages(
        EventAverage(name, len(row.durations), sum(row.durations), row.self_us, min(row.durations),
                     statistics.median(row.durations), max(row.durations), row.on_device, row.category, row.launched,
                     row.self_launched, *row.memory, shapes, stack)
        for (name, shapes, stack), row in rows.items())
    found.sort(key=lambda one: -one.total_us)
    return found._with_steps_together()


# What table() can sort by.
_ORDERS = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time", "device_time_total",
           "self_device_time_total", "cuda_time", "cuda_time_total", "self_cuda_time_total", "count")


def time_text(us):
    """A time as torch.profiler's tables have it.

    >>> time_text(0.25), time_text(1500), time_text(2_500_000)
    ('0.250us', '1.500ms', '2.500s')
    """
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _weighted_median(averages):
    """The median of the medians, each as often as its name has ranges."""
    left = (sum(one.count for one in averages) + 1) // 2
    for one in sorted(averages, key=lambda one: one.median_us):
        left -= one.count
        if left <= 0:
            return one.median_us
    return 0.0


class EventAverages(list):
    """A list of EventAverage, largest total first. An index may be a name: averages["forward"]."""

    @classmethod
    def of_trace(cls, path):
        rows = json.loads(command.run("stats", path, "--json", "--full-text"))["rows"]
        all_rows = cls(EventAverage(row["name"], row["count"], row["total_ns"] / 1e3, row["self_ns"] / 1e3,
                                    row.get("min_ns", 0) / 1e3, row.get("median_ns", 0) / 1e3,
                                    row.get("max_ns", 0) / 1e3, row.get("on_device", False), row.get("category", ""))
                       for row in rows)
        return all_rows._with_steps_together()

    def _with_steps_together(self):
        """The steps of the profiler are one row, with the name that torch.profiler gives it."""
        steps = [one for one in self if one.key.startswith("ProfilerStep#")]
        if not steps:
            return self
        others = [one for one in self if not one.key.startswith("ProfilerStep#")]
        row = EventAverage("ProfilerStep*", sum(one.count for one in steps), sum(one.total_us for one in steps),
                           sum(one.self_us for one in steps), min(one.min_us for one in steps), _weighted_median(steps),
                           max(one.max_us for one in steps), False, steps[0].category)
        return type(self)(sorted([row, *others], key=lambda one: -one.total_us))

    def __getitem__(self, index):
        if not isinstance(index, str):
            return super().__getitem__(index)
        for average in self:
            if average.key == index:
                return average
        raise KeyError(index)

    def total_average(self):
        """All of them as one. Its time is that of the host, in which each microsecond counts once.

        min_us and max_us are the shortest and the longest range, and median_us is the median of the medians, in which a
        name counts as often as it has ranges: the ranges themselves are not here.
        """
        total = sum(one.self_us for one in self if not one.on_device)
        known = [one for one in self if one.max_us]  # ranges without an end have no min and max
        return EventAverage("Total", sum(one.count for one in self), total, total,
                            min((one.min_us for one in known), default=0.0), _weighted_median(known),
                            max((one.max_us for one in known), default=0.0), False, "")

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None, top_level_events_only=False):
        """A table as text. `sort_by` is a time such as "self_cpu_time_total", or "count"."""
        rows = list(self)
        if sort_by is not None:
            if sort_by not in _ORDERS:
                raise InvalidArgument(f'sort_by is "{sort_by}"; use one of: {", ".join(_ORDERS)}')
            rows.sort(key=lambda one: getattr(one, sort_by), reverse=True)
        total = sum(one.self_us for one in self if not one.on_device)
        device_total = sum(one.self_us for one in self if one.on_device)
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        if device_total:
            titles += ["Self device", "Device total", "Device time avg"]
        titles.append("# of Calls")

        def share(us):
            return f"{100 * us / total:.2f}%" if total else "0.00%"

        lines = [titles]
        for one in rows[:row_limit] if row_limit >= 0 else rows:
            name = one.key if len(one.key) <= max_name_column_width else one.key[:max_name_column_width - 3] + "..."
            line = [name, share(one.self_cpu_time_total), time_text(one.self_cpu_time_total), share(one.cpu_time_total),
                    time_text(one.cpu_time_total), time_text(one.cpu_time)]
            if device_total:
                line += [time_text(one.self_device_time_total), time_text(one.device_time_total),
                         time_text(one.device_time)]
            lines.append([*line, str(one.count)])
        widths = [max(len(line[i]) for line in lines) + 2 for i in range(len(titles))]
        rule = "  ".join("-" * width for width in widths)

        def laid(line):
            return "  ".join([line[0].rjust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])

        text = [rule, laid(titles), rule, *(laid(line) for line in lines[1:]), rule,
                f"Self CPU time total: {time_text(total)}"]
        if device_total:
            text.append(f"Self device time total: {time_text(device_total)}")
        if header is not None:
            text.insert(0, header)
        return "\n".join(text) + "\n"

    def __str__(self):
        return self.table()
