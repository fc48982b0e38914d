exit: 2
kymo timeline rich.kymo --from 80ms --to 20ms
