exit: 2
kymo record -o run.kymo --
