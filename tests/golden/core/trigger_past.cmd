exit: 2
kymo trigger --all --start-at '2001-02-03 04:05'
