# A range that never ends is there also if other ranges of the thread overlap.
cat >t.json <<'END'
[{"ph":"X","name":"a","pid":9,"tid":9,"ts":0,"dur":100},
{"ph":"X","name":"b","pid":9,"tid":9,"ts":99,"dur":100},
{"ph":"B","name":"open","pid":9,"tid":9,"ts":210},
{"ph":"X","name":"c","pid":9,"tid":9,"ts":250,"dur":50}]
END
kymo stats t.json && kymo timeline t.json
