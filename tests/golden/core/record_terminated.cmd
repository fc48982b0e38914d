# SIGTERM goes to the program
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
exit: 143
kymo record -o run.kymo -- sh -c "tries; kill -TERM \$PPID; exec sleep 30"
