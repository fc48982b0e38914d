exit: 1
kymo report nothing.kymo
