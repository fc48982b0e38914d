exit: 2
kymo cut rich.kymo -o part.kymo --from soon
