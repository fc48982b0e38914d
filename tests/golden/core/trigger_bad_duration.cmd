exit: 2
kymo trigger --all --duration 2sec
