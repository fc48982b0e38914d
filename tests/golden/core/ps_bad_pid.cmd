exit: 2
kymo ps --pid me
