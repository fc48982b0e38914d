exit: 2
kymo trigger --all --roundup 5
