# No sample has the function.
exit: 1
kymo stats sampled.kymo --callers nobody
