"""The ranges of a trace by Arrow's C stream, read by DuckDB: a consumer that knows nothing about Kymo."""
import ctypes
import gc
import os
import pathlib
import sys
import tempfile
import unittest

import numpy

import kymo
from traces import missing_duckdb


def duckdb():
    """The library that `kymo query` loads."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    path = os.environ.get("KYMO_DUCKDB_LIBRARY") or next(cache.glob("kymo/duckdb-*/libduckdb.so"), "libduckdb.so")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise unittest.SkipTest(f"{missing_duckdb() or error}") from error
    library.duckdb_value_varchar.restype = ctypes.c_void_p
    return library


class Result(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * 6)]


class DuckDB:
    """A database in memory, with the stream as the table "ranges"."""

    def __init__(self, capsule):
        self.library, self.capsule = duckdb(), capsule
        self.database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.duckdb_open(None, ctypes.byref(self.database)) == 0
        assert self.library.duckdb_connect(self.database, ctypes.byref(self.connection)) == 0
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        stream = pointer(capsule, b"arrow_array_stream")
        assert self.library.duckdb_arrow_scan(self.connection, b"stream", ctypes.c_void_p(stream)) == 0
        self.rows("CREATE TABLE ranges AS SELECT * FROM stream")  # a stream can be read once

    def rows(self, sql):
        result = Result()
        failed = self.library.duckdb_query(self.connection, sql.encode(), ctypes.byref(result))
        assert not failed, sql
        columns = self.library.duckdb_column_count(ctypes.byref(result))
        rows = [tuple(self._text(result, column, row) for column in range(columns))
                for row in range(self.library.duckdb_row_count(ctypes.byref(result)))]
        self.library.duckdb_destroy_result(ctypes.byref(result))
        return rows

    def _text(self, result, column, row):
        value = self.library.duckdb_value_varchar(ctypes.byref(result), ctypes.c_uint64(column), ctypes.c_uint64(row))
        text = ctypes.string_at(value).decode() if value else None
        self.library.duckdb_free(ctypes.c_void_p(value))
        return text

    def close(self):
        self.library.duckdb_disconnect(ctypes.byref(self.connection))
        self.library.duckdb_close(ctypes.byref(self.database))


class ArrowTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.kymo")

    def record(self, names):
        with kymo.Session(self.path):
            for name in names:
                with kymo.nvtx.range(name), kymo.nvtx.range("inside"):
                    pass
            if names:
                kymo.nvtx.range_start("across")
        return kymo.open(self.path)

    def read(self, trace):
        database = DuckDB(trace.__arrow_c_stream__())
        self.addCleanup(database.close)
        return database

    def test_columns_have_the_values_of_the_trace(self):
        trace = self.record(["load", "Größe 気", "load"])
        database = self.read(trace)
        ranges = trace.ranges
        expected = [tuple(str(value) for value in row) for row in
                    zip(ranges.start_ns, ranges.duration_ns, ranges.name, ranges.depth, ranges.track)]
        self.assertEqual(len(expected), 7)
        self.assertEqual(database.rows("SELECT start_ns, duration_ns, name, depth, track FROM ranges"), expected)
        self.assertEqual(database.rows("SELECT across_threads, finished FROM ranges"),
                         [(str(bool(a)).lower(), str(bool(b)).lower())
                          for a, b in zip(ranges.across_threads, ranges.finished)])
        self.assertEqual(database.rows("SELECT name, count(*) FROM ranges WHERE depth = 0 GROUP BY ALL ORDER BY ALL"),
                         [("Größe 気", "1"), ("across", "1"), ("load", "2")])

    def test_many_ranges(self):
        trace = self.record([f"number {i % 50}" for i in range(5000)])
        database = self.read(trace)
        self.assertEqual(database.rows("SELECT count(*), sum(duration_ns)::BIGINT FROM ranges"),
                         [("10001", str(numpy.sum(trace.ranges.duration_ns)))])

    def test_trace_without_ranges(self):
        self.assertEqual(self.read(self.record([])).rows("SELECT count(*) FROM ranges"), [("0",)])

    def test_stream_that_nobody_reads_keeps_nothing(self):
        trace = self.record(["load"])
        column = trace.ranges.start_ns
        before = sys.getrefcount(column)
        capsule = trace.__arrow_c_stream__()
        self.assertGreater(sys.getrefcount(column), before)
        del capsule
        gc.collect()
        self.assertEqual(sys.getrefcount(column), before)

    def test_stream_that_was_read_keeps_nothing(self):
        trace = self.record(["load"])
        column = trace.ranges.start_ns
        before = sys.getrefcount(column)
        database = DuckDB(trace.__arrow_c_stream__())
        database.close()
        del database
        gc.collect()
        self.assertEqual(sys.getrefcount(column), before)


if __name__ == "__main__":
    unittest.main()
