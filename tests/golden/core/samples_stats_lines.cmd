# Source lines. Code without debug information has a row for each function.
kymo stats sampled.kymo --by line
