# names are shown so that they cannot drive the terminal
mask: [0-9.]+ k?B, [0-9.]+ bytes per event
kymo info hostile.kymo
