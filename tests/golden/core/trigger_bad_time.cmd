exit: 2
kymo trigger --all --start-at soon
