# A command reads a trace of another tool directly.
echo '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2.5},{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":1}]' >a.json
gzip a.json; kymo stats a.json.gz
