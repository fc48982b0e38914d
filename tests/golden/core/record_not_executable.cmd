exit: 126
kymo record -o run.kymo -- ./foreign.json; code=$?
ls run.kymo 2>/dev/null
exit $code
