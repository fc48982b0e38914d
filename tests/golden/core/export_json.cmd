# the words of the format are the business of its own tests
kymo export rich.kymo -o rich.json && python3 -c "import json; print(\"traceEvents\" in json.load(open(\"rich.json\")))"
