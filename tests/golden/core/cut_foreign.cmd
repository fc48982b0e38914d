exit: 1
kymo cut foreign.json -o part.kymo --to 10ms
