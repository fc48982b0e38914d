exit: 2
kymo hist rich.kymo
