exit: 1
kymo cut rich.kymo -o none/part.kymo --to 10ms
