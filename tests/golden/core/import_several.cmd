# Two files, one of them truncated: the events before the end are there, and the loss is stated.
exit: 3
echo '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2.5},{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":1}]' >a.json
echo '{"traceEvents":[{"ph":"X","name":"c","pid":2,"tid":1,"ts":1,"dur":2},{"ph":"X","na' >b.json
kymo import a.json b.json -o x.kymo --strict; kymo stats x.kymo --strict
