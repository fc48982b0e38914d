exit: 1
kymo hist silent.kymo step
