exit: 2
kymo export rich.kymo -o run.csv --table counters
