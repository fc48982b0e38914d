exit: 2
kymo cancel 0
