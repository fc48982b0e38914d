# A trace of another tool is read by way of a temporary file.
exit: 1
seq 20000 | sed 's/.*/{"ph": "X", "name": "name &", "ts": &, "dur": 1, "pid": 1, "tid": 1},/; 1s/^/[/; $s/,$/]/' >a.json; mkdir t; (ulimit -f 8; TMPDIR=t kymo stats a.json); ls t; TMPDIR=nosuch kymo stats a.json
