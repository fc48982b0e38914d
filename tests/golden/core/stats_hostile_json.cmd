kymo stats hostile.kymo --json | python3 -c "import json, sys; print([row[\"name\"][:24] for row in json.load(sys.stdin)[\"rows\"]])"
