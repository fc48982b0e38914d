# what a stranger types
exit: 2
kymo ps train
