# Functions have no median.
exit: 2
kymo stats sampled.kymo --by function --sort median
