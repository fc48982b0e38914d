exit: 2
kymo stats in_ranges.kymo --in forward
