# the second one kills a program that does not listen
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
exit: 137
kymo record -o run.kymo -- sh -c "trap \"\" INT; tries; kill -INT \$PPID; while grep -q 'ShdPnd:.*[2367abef]$' /proc/\$PPID/status; do sleep 0.02; done; kill -INT \$PPID; exec sleep 100"; code=$?
kymo info run.kymo --strict > /dev/null || exit 1
exit $code
