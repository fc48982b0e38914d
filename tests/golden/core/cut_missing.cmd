exit: 1
kymo cut none.kymo -o part.kymo --to 10ms
