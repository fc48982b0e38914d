exit: 1
kymo stats in_ranges.kymo --by function --in backward
