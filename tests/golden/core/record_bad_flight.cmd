exit: 2
kymo record --flight 30x -- true
