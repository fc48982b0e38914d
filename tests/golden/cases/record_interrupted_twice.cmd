# the second one kills a program that does not listen
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
exit: 137
kymo record -o run.kymo -- sh -c "trap \"\" INT; tries; kill -INT \$PPID; sleep 1; kill -INT \$PPID; exec sleep 30"; code=$?
kymo info run.kymo --strict > /dev/null || exit 1
exit $code
