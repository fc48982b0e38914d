exit: 2
kymo record -o - -- true
