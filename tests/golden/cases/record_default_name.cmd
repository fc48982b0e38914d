# the file is named after the program
mask: [0-9.]+ k?B, [0-9.]+ bytes an event
kymo record tries
ls tries.kymo
