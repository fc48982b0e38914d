exit: 2
kymo export rich.kymo -o a.json -o b.json
