#!/usr/bin/env python3
"""Writes a small SQLite export of Nsight Systems into a folder, as a seed for nsys_fuzz.

Usage: fuzz/sqlite_seed.py FOLDER
"""
import pathlib
import sqlite3
import sys

path = pathlib.Path(sys.argv[1]) / "report.sqlite"
path.unlink(missing_ok=True)
database = sqlite3.connect(path)
database.execute("PRAGMA page_size=512")  # several pages in a small file
database.executescript(
    """
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 3000, 16777218, 5, 1), (4000, 5000, 16777218, 6, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
      correlationId INT, globalPid INT, demangledName INT, gridX INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 9000, 0, 1, 7, 5, 16777216, 2, 3);
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, color INT, text TEXT, globalTid INT, textId INT,
      domainId INT);
    INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 3, 'push', 5, NULL, 0), (1, 4, 60, 3, 'start', 5, NULL, 0),
      (1, 4, 75, 3, NULL, 5, 2, 0), (1, NULL, 34, 3, 'mark', 5, 2, 0);
    """
)
database.close()
