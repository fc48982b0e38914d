# Only samples inside the ranges, and the ranges as before.
kymo stats in_ranges.kymo --by function --in "forward*"; kymo stats in_ranges.kymo
