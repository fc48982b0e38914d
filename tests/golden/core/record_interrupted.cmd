# Ctrl-C goes to the program, and the file is complete
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
exit: 130
kymo record -o run.kymo -- sh -c "tries; kill -INT \$PPID; exec sleep 30"; code=$?
kymo info run.kymo --strict > /dev/null || exit 1
exit $code
