exit: 2
kymo trigger --all --pid 7
