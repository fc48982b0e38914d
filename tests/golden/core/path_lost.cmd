# What was lost is said even if nothing is left to show.
exit: 1
echo '[{"ph":"i","name":"x","pid":1,"tid":1,"ts":5,"s":"t"},{"ph":"E","pid":1,"tid":1,"ts":9}]' >a.json
kymo path a.json
