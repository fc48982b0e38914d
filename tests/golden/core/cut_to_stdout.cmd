exit: 2
kymo cut rich.kymo -o -
