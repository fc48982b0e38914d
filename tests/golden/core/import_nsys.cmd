# An SQLite export of Nsight Systems, and an SQLite file of another program.
exit: 1
python3 - <<'END'
import sqlite3
db = sqlite3.connect("report.sqlite")
db.executescript("""
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 3000, 16777218, 5, 1), (4000, 5000, 16777218, 6, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
  correlationId INT, globalPid INT, demangledName INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 9000, 0, 1, 7, 5, 16777216, 2), (9000, 9500, 0, 1, 7, 6, 16777216, 2);
CREATE TABLE SCHED_EVENTS (start INT, cpu INT);
INSERT INTO SCHED_EVENTS VALUES (1, 2);
""")
sqlite3.connect("other.sqlite").execute("CREATE TABLE users (name TEXT)").connection.commit()
END
kymo stats report.sqlite; kymo import other.sqlite -o x.kymo
