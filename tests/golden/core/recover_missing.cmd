exit: 1
kymo recover none.kymo
