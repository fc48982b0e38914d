exit: 2
kymo record --ring-size 99999999TB -- true
