# the end is cut off: what is whole is shown
mask: [0-9.]+ k?B, [0-9.]+ bytes per event
exit: 3
kymo info torn.kymo --strict
