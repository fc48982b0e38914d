exit: 1
kymo hist nothere.kymo step
