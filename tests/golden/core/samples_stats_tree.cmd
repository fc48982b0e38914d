# Who called whom, callers above callees.
kymo stats sampled.kymo --tree
