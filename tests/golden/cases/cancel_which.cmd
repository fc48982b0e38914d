exit: 2
kymo cancel
