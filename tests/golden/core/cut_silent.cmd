exit: 1
kymo cut silent.kymo -o part.kymo --to 10ms
