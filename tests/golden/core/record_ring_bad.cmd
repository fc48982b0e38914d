exit: 2
kymo record --ring-size big -- true
