# how much was still in memory differs from run to run; that all of it is there after does not
mask: (?<=recovered )[0-9,]+
mask: [0-9.]+ k?B
KYMO_TRACE=run.kymo sh -c "ends kill 20000" 2> /dev/null
kymo recover run.kymo
kymo stats run.kymo --json --strict | python3 -c "import json, sys
counts = {row[\"name\"]: row[\"count\"] for row in json.load(sys.stdin)[\"rows\"]}
print(*(counts[name] for name in (\"work\", \"inner\", \"thread work\")))"
