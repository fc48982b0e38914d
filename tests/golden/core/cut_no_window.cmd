exit: 1
kymo cut rich.kymo -o part.kymo
