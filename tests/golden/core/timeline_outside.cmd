exit: 2
kymo timeline rich.kymo --from 5s
