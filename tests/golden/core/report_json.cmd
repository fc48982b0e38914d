# The same numbers for programs.
echo '[{"ph":"X","name":"step 1","pid":1,"tid":1,"ts":1,"dur":2.5},{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":1}]' >t.json
kymo report t.json --json
