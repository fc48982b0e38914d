exit: 2
kymod --qiet
