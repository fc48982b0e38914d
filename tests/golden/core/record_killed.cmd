# nothing that was recorded is lost
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
exit: 137
kymo record -o run.kymo -- ends kill 1000
