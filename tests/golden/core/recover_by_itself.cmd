# info, stats and export recover what dead processes left
mask: (?<=recovered )[0-9,]+
KYMO_TRACE=run.kymo sh -c "ends kill 20000" 2> /dev/null
kymo stats run.kymo --json --strict | python3 -c "import json, sys
counts = {row[\"name\"]: row[\"count\"] for row in json.load(sys.stdin)[\"rows\"]}
print(*(counts[name] for name in (\"work\", \"inner\", \"thread work\")))"
