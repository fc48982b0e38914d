# A tree is of samples.
exit: 2
kymo stats rich.kymo --by name --tree
