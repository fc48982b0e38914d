exit: 2
kymo trigger --all --duration 2s --iterations 5
