# the file is named after the program
mask: (?<=\()[0-9.]+ k?B(?=\))|(?<=a trace of )[0-9.]+ k?B
kymo record tries
ls tries.kymo
