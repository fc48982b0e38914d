mask: [0-9.]+ k?B, [0-9.]+ bytes an event
kymo info device.kymo
