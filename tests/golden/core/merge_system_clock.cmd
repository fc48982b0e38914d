# Traces that share nothing: the offset of a clock that has no meaning for people is not shown.
echo '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]' >a.json
echo '[]' >b.json
kymo merge a.json b.json -o all.kymo
