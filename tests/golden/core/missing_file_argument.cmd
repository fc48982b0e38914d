exit: 2
kymo info
