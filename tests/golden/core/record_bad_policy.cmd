exit: 2
kymo record --policy wait -- true
