exit: 1
kymo timeline nothere.kymo
