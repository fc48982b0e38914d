exit: 2
kymo cut rich.kymo --from 1ms
