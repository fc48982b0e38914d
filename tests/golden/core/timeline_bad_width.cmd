exit: 2
kymo timeline rich.kymo --width 12
