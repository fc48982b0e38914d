kymo record --quiet -o run.kymo -- ends exit 1000
kymo stats run.kymo --json --strict | python3 -c "import json, sys
counts = {row[\"name\"]: row[\"count\"] for row in json.load(sys.stdin)[\"rows\"]}
print(*(counts[name] for name in (\"work\", \"inner\", \"thread work\")))"
