# a trace of that name is replaced
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
cp rich.kymo run.kymo
kymo record -o run.kymo -- tries
kymo stats run.kymo --json | grep "\"name\""
