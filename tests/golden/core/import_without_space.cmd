# The output does not fit: the message has its name, not the one of a temporary file.
exit: 1
seq 20000 | sed 's/.*/{"ph": "X", "name": "name &", "ts": &, "dur": 1, "pid": 1, "tid": 1},/; 1s/^/[/; $s/,$/]/' >a.json; (ulimit -f 8; kymo import a.json -o x.kymo); ls | grep ^x; false
