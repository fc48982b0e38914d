exit: 2
kymo trigger --all --duration 0s
