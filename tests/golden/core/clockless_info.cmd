# the clock of a process was torn out
mask: [0-9.]+ k?B
exit: 3
kymo info clockless.kymo --strict
