# SIGUSR2 writes what a flight recorder holds; the end writes it again
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
kymo record --flight 1m -o run.kymo -- sh -c "tries; kill -USR2 \$PPID; sleep 1; exec tries"
