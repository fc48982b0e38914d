# SIGUSR2 writes what a flight recorder holds; the end writes it again
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
kymo record --flight 1m -o run.kymo -- sh -c \
  'tries; file=$(stat -c %i run.kymo); kill -USR2 $PPID; while [ $(stat -c %i run.kymo) = $file ]; do sleep 0.02; done; exec tries'
