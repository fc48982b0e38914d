exit: 2
kymo trigger --cancel 0
