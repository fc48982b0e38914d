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
from kymo.errors import Error, InvalidArgument, needed_numpy
from kymo.table import Report, Table

_MAGIC = b"\x93KYMO\r\n\x1a"
_TIMES, _NAMES, _DEPTHS, _TRACKS, _KINDS = 1, 2, 4, 8, 16
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
        return _recovered(path)
    with tempfile.TemporaryDirectory(prefix="kymo-") as folder:
        imported = os.path.join(folder, "imported.kymo")
        command.run("import", _argument(path), "-o", imported)
        return Trace(_reader.Trace(imported), path)  # it stays open after the file is gone


def _recovered(path):
    opened = _reader.Trace(path)
    if not opened.unended:
        return Trace(opened, path)
    try:
        live = json.loads(command.run("recover", _argument(path), "--json"))["live_processes"]
    except Error as error:
        trace = Trace(opened, path)  # what is in the file can be read
        trace._note([f"what dead processes left in memory could not be added: {error}"])
        return trace
    trace = Trace(_reader.Trace(path, live > 0), path)
    if trace._reader.being_written and trace._reader.unended:  # also by `kymo record` itself, without a live process
        trace._note([f"{_count(max(live, 1), 'process still records', 'processes still record')} into this file: later "
                     "events are not shown"])
    return trace


def _argument(path):
    """A path as an argument of the command, where a dash would begin an option."""
    text = os.fsdecode(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text


class Ranges:
    """All ranges of a trace, one array for each column: the same ones as in stats() and query().

    start_ns and duration_ns are int64; start_ns counts from 1970. name_id, track and depth are small integers:
    trace.names[name_id] is the name, trace.tracks[track] the thread, the queue or the task. `name` has the names
    themselves. across_threads and finished are booleans: a range across threads has depth 0, and a range without an end
    lasts until its process was last seen alive.

    A column is decoded when it is used first, and stays after the trace is closed. len() is the number in the headers of
    the file until a column has been decoded: columns do not contain damaged ranges.
    """

    def __init__(self, trace):
        self._trace = trace
        self._columns = {}

    def __len__(self):
        for column in self._columns.values():
            return len(column)
        return self._trace.counts["ranges"]

    def _column(self, name, columns):
        numpy = needed_numpy()
        if name not in self._columns:
            read = self._trace._open().ranges(columns)
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
    def across_threads(self):
        return self._column("across_threads", _KINDS)

    @property
    def finished(self):
        return self._column("finished", _KINDS)

    @property
    def name(self):
        """The names as an array of str objects: one pointer for each range."""
        numpy = needed_numpy()
        if "names" not in self._columns:
            ids = self.name_id  # first: it may find more names
            self._columns["names"] = numpy.array(self._trace.names, dtype=object)[ids]
        return self._columns["names"]

    def __repr__(self):
        return (f"<{_count(len(self), 'range')}: start_ns, duration_ns, name, name_id, depth, track, across_threads, "
                "finished>")


def _count(number, thing, plural=None):
    return f"{number:,} {thing if number == 1 else plural or thing + 's'}"


class Trace:
    """An open trace. close() it, or use it in a with statement; arrays stay valid afterwards.

    `problems` has a line for everything that is lost, missing or damaged. Damage inside of events is found when they are
    read first.
    """

    def __init__(self, reader, path):
        self._reader = reader
        self._counts = None
        self.path = os.fspath(path)
        self.problems = reader.problems()
        self.ranges = Ranges(self)

    def _open(self):
        if self._reader.closed:
            raise ValueError(f"the trace {self.path!r} is closed: open it again with kymo.open({self.path!r})")
        return self._reader

    @property
    def counts(self):
        """The numbers of its ranges, points (instants, values of counters, …), lost events and processes, as a dict."""
        if self._counts is None:
            self._counts = self._open().counts()
        return dict(self._counts)

    def _note(self, problems):
        for problem in problems:
            if problem not in self.problems:
                self.problems.append(problem)

    @property
    def names(self):
        """The names of its ranges, instants and counters. Those with values in them are like "step {}"."""
        return self._open().names()

    @property
    def tracks(self):
        """Its threads, device queues and tasks of asyncio, as a table: kind, pid, tid, name, device."""
        return Table(self._open().tracks())

    def durations(self, name):
        """The durations of all ranges with this name, in nanoseconds, as an array of int64.

        A name with values is the one of its class, such as "step {}". Ranges that have no end are left out: their
        durations are not known. All cores read, tens of millions of ranges in a second. An unknown name has no ranges.
        """
        numpy = needed_numpy()
        column, problems = self._open().durations(name)
        self._note(problems)
        return numpy.asarray(column)

    def stats(self):
        """A row for each name, longest total first: count, total_ns, self_ns, min_ns, median_ns, p99_ns, max_ns, …

        Ranges without an end have a row of their own: min_ns to max_ns are None, because their lengths are not known.
        """
        rows, problems = self._open().stats()
        self._note(problems)
        return Table(rows)

    def _open_path(self):
        self._open()
        return _argument(self.path)

    def report(self):
        """Where the time went, as `kymo report` shows it: print() it, or use it as a dict."""
        path = self._open_path()
        content = json.loads(command.run("report", path, "--json"))
        self._note(problem["what"] for problem in content["problems"])
        return Report(content, path)

    def query(self, sql):
        """The rows of an SQL statement over the tables of `kymo query`: ranges, events, counters, …

        Of two columns with one name, the second is NAME_1. NULL and NaN are None.
        """
        if not isinstance(sql, str):
            raise TypeError(f"query: sql must be str, not {type(sql).__name__}")
        if not sql.strip():
            raise InvalidArgument(f'query: sql is {sql!r}; give a statement: trace.query("SELECT count(*) FROM ranges")')
        rows, messages = command.run_with_messages("query", self._open_path(), "--json", input=sql)
        # Losses are known since the trace was opened; damage inside of events is not.
        self._note(line.removeprefix("damaged: ") for line in messages if line.startswith(("damaged: ", "… and ")))
        return Table(json.loads(rows or "[]"))

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
            "across_threads": ranges.across_threads, "finished": ranges.finished,
        }, copy=False)

    def __arrow_c_stream__(self, requested_schema=None):
        """Its ranges for any library that reads Arrow: polars.DataFrame(trace), pyarrow.table(trace).

        Names are a dictionary. The columns are not copied, and stay after the trace is closed. A requested schema has no
        effect: the reader casts.
        """
        numpy = needed_numpy()
        ranges = self.ranges
        name_id = ranges.name_id  # first: it may find more names

        def bits(column):
            return numpy.packbits(column, bitorder="little")

        return _reader.arrow_stream(len(name_id), [
            ("start_ns", "l", ranges.start_ns, None), ("duration_ns", "l", ranges.duration_ns, None),
            ("name", "i", name_id, list(self.names)), ("depth", "S", ranges.depth, None),
            ("track", "i", ranges.track, None), ("across_threads", "b", bits(ranges.across_threads), None),
            ("finished", "b", bits(ranges.finished), None),
        ])

    def to_arrow(self):
        """Its ranges as a Table of pyarrow. Names are a dictionary."""
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("to_arrow() needs pyarrow, which is not installed") from error
        return pyarrow.RecordBatchReader.from_stream(self).read_all()

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
        if self.closed:
            return f"<kymo.Trace {self.path!r}: closed>"
        counts = self.counts
        return (f"<kymo.Trace {self.path!r}: {_count(counts['ranges'], 'range')}, "
                f"{_count(counts['processes'], 'process', 'processes')}>")
