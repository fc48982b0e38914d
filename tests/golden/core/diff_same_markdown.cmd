# A trace and itself, and too few samples.
exit: 3
{ echo '['; for i in $(seq 40); do echo '{"ph":"X","name":"step '$i'","pid":9,"tid":9,"ts":'$((i * 1000))',"dur":'$((400 + i * 7 % 10))'},'; done; echo ']'; } >a.json
kymo diff a.json a.json --markdown --fail-above 1% && echo '[{"ph":"X","name":"step 1","pid":9,"tid":9,"ts":1,"dur":3}]' >b.json && kymo diff b.json b.json --fail-above 1%
