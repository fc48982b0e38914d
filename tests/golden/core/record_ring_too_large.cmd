exit: 2
kymo record --ring-size 1TB -- true
