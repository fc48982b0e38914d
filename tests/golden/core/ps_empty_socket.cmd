exit: 2
kymo ps --socket ''
