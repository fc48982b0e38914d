exit: 2
kymo record --sample 1000kHz -- true
