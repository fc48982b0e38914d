exit: 2
kymo daemon --qiet
