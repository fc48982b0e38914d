# two traces put together are a trace
mask: [0-9.]+ k?B, [0-9.]+ bytes per event
kymo info both.kymo
