exit: 2
kymo trigger --all --iterations five
