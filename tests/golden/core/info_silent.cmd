# a process that recorded nothing
mask: [0-9.]+ k?B
kymo info silent.kymo
