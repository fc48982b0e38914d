exit: 2
kymo info rich.kymo both.kymo
