exit: 2
kymo record --sample fast -- true
