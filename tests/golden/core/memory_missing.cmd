exit: 1
kymo memory none.kymo
