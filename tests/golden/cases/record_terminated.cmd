# SIGTERM goes to the program
mask: [0-9.]+ k?B, [0-9.]+ bytes an event
exit: 143
kymo record -o run.kymo -- sh -c "tries; kill -TERM \$PPID; exec sleep 30"
