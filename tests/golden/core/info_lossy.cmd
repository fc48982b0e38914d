# the ledger goes to standard error
mask: [0-9.]+ k?B, [0-9.]+ bytes per event
kymo info lossy.kymo
