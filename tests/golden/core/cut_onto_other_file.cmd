exit: 1
kymo cut rich.kymo -o foreign.json --to 10ms
