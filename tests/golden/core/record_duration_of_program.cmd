exit: 2
kymo record --duration 5s -- true
