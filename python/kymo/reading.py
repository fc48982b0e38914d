"""kymo.open: traces as columns for NumPy, pandas and Arrow, with what the commands compute.

>>> import kymo, pathlib, tempfile
>>> file = pathlib.Path(tempfile.mkdtemp()) / "run.json"       # a trace of another tool works too
>>> _ = file.write_text('[{"ph": "X", "name": "load", "ts": 0, "dur": 2.5, "pid": 1, "tid": 1},'
...                     ' {"ph": "X", "name": "load", "ts": 5, "dur": 1.5, "pid": 1, "tid": 1}]')
>>> trace = kymo.open(file)
>>> trace.durations("load")
array([2500, 1500])
>>> trace.stats()[0]["total_ns"]
4000
>>> trace.ranges.name.tolist()
['load', 'load']
"""
import builtins
import html
import json
import os
import tempfile

from kymo import _reader, command
from kymo.errors import Error
from kymo.table import Report, Table

_MAGIC = b"\x93KYMO\r\n\x1a"
_TIMES, _NAMES, _DEPTHS, _TRACKS = 1, 2, 4, 8
_PAGE_BYTES = 16 << 20  # of a timeline in a notebook


def open(path):
    """Opens a trace: a Trace with its ranges as arrays of NumPy.

    Takes Kymo's own files and those of other tools, which are imported first (Chrome and Kineto JSON, Perfetto, Nsight
    Systems, memory snapshots of PyTorch). Events that dead processes left in memory are recovered. Raises OSError if the
    file cannot be opened, kymo.Error if it is not a trace.
    """
    path = os.fspath(path)  # not a number: that would be the descriptor of an open file
    with builtins.open(path, "rb") as file:
        magic = file.read(len(_MAGIC))
    if magic == _MAGIC:
        return Trace(_recovered(path), path)
    with tempfile.TemporaryDirectory(prefix="kymo-") as folder:
        imported = os.path.join(folder, "imported.kymo")
        command.run("import", path, "-o", imported)
        return Trace(_reader.Trace(imported), path)  # it stays open after the file is gone


def _recovered(path):
    opened = _reader.Trace(path)
    if opened.counts()["unended"]:
        try:
            command.run("recover", path)
        except Error:
            return opened  # what is in the file can be read
        opened = _reader.Trace(path)
    return opened


class Ranges:
    """The ranges of a trace, one array for each column. A column is decoded when it is used first.

    start_ns and duration_ns are int64; start_ns counts from 1970. name_id, track and depth are small integers:
    trace.names[name_id] is the name, trace.tracks[track] the thread or queue. `name` has the names themselves.
    """

    def __init__(self, trace):
        self._trace = trace
        self._columns = {}

    def __len__(self):
        return self._trace.counts["ranges"]

    def _column(self, name, columns):
        import numpy
        if name not in self._columns:
            read = self._trace._reader.ranges(columns)
            self._trace._note(read.pop("problems"))
            self._columns.update({key: numpy.asarray(value) for key, value in read.items()})
        return self._columns[name]

    @property
    def start_ns(self):
        return self._column("start_ns", _TIMES)

    @property
    def duration_ns(self):
        return self._column("duration_ns", _TIMES)

    @property
    def name_id(self):
        return self._column("name", _NAMES)

    @property
    def depth(self):
        return self._column("depth", _DEPTHS)

    @property
    def track(self):
        return self._column("track", _TRACKS)

    @property
    def name(self):
        """The names as an array of str objects: one pointer for each range."""
        import numpy
        ids = self.name_id
        return numpy.array([*self._trace.names, None], dtype=object)[ids]

    def __repr__(self):
        return f"<{len(self)} ranges: start_ns, duration_ns, name, name_id, depth, track>"


class Trace:
    """An open trace. close() it, or use it in a with statement; arrays stay valid afterwards."""

    def __init__(self, reader, path):
        self._reader = reader
        self.path = os.fspath(path)
        self.counts = reader.counts()
        self.problems = list(self.counts.pop("problems"))
        self.ranges = Ranges(self)

    def _note(self, problems):
        self.problems += [problem for problem in problems if problem not in self.problems]

    @property
    def names(self):
        """The names of its ranges, instants and counters. Those with values in them are like "step {}"."""
        return self._reader.names()

    @property
    def tracks(self):
        """Its threads and device queues, as a table: kind, pid, tid, name, device."""
        return Table(self._reader.tracks())

    def durations(self, name):
        """The durations of all ranges with this name, in nanoseconds, as an array of int64.

        All cores read, tens of millions of ranges in a second. An unknown name has no ranges.
        """
        import numpy
        column, problems = self._reader.durations(name)
        self._note(problems)
        return numpy.asarray(column)

    def stats(self):
        """A row for each name, longest total first: count, total_ns, self_ns, min_ns, median_ns, p99_ns, max_ns, …"""
        rows, problems = self._reader.stats()
        self._note(problems)
        return Table(rows)

    def _open_path(self):
        if self._reader.closed:
            raise ValueError("this trace is closed: open it again with kymo.open()")
        return self.path

    def report(self):
        """Where the time went, as `kymo report` shows it: print() it, or use it as a dict."""
        path = self._open_path()
        return Report(json.loads(command.run("report", path, "--json")), path)

    def query(self, sql):
        """The rows of an SQL statement over the tables of `kymo query`: ranges, events, counters, …"""
        if not isinstance(sql, str):
            raise TypeError(f"query: sql must be str, not {type(sql).__name__}")
        return Table(json.loads(command.run("query", self._open_path(), sql, "--json") or "[]"))

    def to_pandas(self):
        """Its ranges as a DataFrame of pandas. Names are categories."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas, which is not installed") from error
        ranges = self.ranges
        name_id = ranges.name_id  # first: it may find more names
        return pandas.DataFrame({
            "start_ns": ranges.start_ns, "duration_ns": ranges.duration_ns,
            "name": pandas.Categorical.from_codes(name_id, self.names),
            "depth": ranges.depth, "track": ranges.track,
        }, copy=False)

    def to_arrow(self):
        """Its ranges as a Table of pyarrow. Names are a dictionary."""
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("to_arrow() needs pyarrow, which is not installed") from error
        ranges = self.ranges
        name_id = ranges.name_id
        return pyarrow.table({
            "start_ns": pyarrow.array(ranges.start_ns), "duration_ns": pyarrow.array(ranges.duration_ns),
            "name": pyarrow.DictionaryArray.from_arrays(pyarrow.array(name_id), pyarrow.array(self.names)),
            "depth": pyarrow.array(ranges.depth), "track": pyarrow.array(ranges.track),
        })

    def _repr_html_(self):
        """The timeline inside a notebook: the page of `kymo view`, if it is not too large, else the statistics."""
        try:
            with tempfile.TemporaryDirectory(prefix="kymo-") as folder:
                page = os.path.join(folder, "timeline.html")
                command.run("view", self._open_path(), "-o", page)
                if os.path.getsize(page) > _PAGE_BYTES:
                    raise Error(f"the timeline has more than {_PAGE_BYTES >> 20} MiB")
                with builtins.open(page, encoding="utf-8") as file:
                    text = file.read()
        except Error as error:
            return (f"<p>{html.escape(str(error))}. Use <code>kymo view {html.escape(self.path)}</code>.</p>"
                    + self.stats()._repr_html_())
        return (f'<iframe srcdoc="{html.escape(text)}" sandbox="allow-scripts" '
                'style="width: 100%; height: 480px; border: 0"></iframe>')

    @property
    def closed(self):
        return self._reader.closed

    def close(self):
        self._reader.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        state = "closed, " if self.closed else ""
        return f"<kymo.Trace {self.path!r}: {state}{self.counts['ranges']} ranges, {self.counts['processes']} processes>"
