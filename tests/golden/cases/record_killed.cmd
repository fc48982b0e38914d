# nothing that was recorded is lost
mask: [0-9.]+ k?B, [0-9.]+ bytes an event
exit: 137
kymo record -o run.kymo -- ends kill 1000
