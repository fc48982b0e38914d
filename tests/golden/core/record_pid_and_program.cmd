exit: 2
kymo record --pid 1 -- true
