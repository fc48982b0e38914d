# every process it starts, and what they start
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
kymo record -o run.kymo -- forks nested 10
