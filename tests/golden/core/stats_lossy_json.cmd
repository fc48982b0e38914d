# the ledger is in the JSON too
exit: 3
kymo stats lossy.kymo --json --top 1 --strict
