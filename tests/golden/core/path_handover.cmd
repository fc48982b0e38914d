# Inside an iteration that is a range, the path goes to the thread that the main thread waited for.
cat >t.json <<'END'
[{"ph":"X","name":"step 1","pid":9,"tid":9,"ts":0,"dur":500},
{"ph":"X","name":"produce","pid":9,"tid":8,"ts":10,"dur":300},
{"ph":"s","name":"item","id":1,"pid":9,"tid":8,"ts":305},
{"ph":"X","name":"consume","pid":9,"tid":9,"ts":320,"dur":150},
{"ph":"f","bp":"e","name":"item","id":1,"pid":9,"tid":9,"ts":321}]
END
kymo path t.json
