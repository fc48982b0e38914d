# A tree is of functions.
exit: 2
kymo stats sampled.kymo --by line --tree
