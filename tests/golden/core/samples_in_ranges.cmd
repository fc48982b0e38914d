# Only samples inside the ranges, also inside of others in them, and the ranges as before.
kymo stats in_ranges.kymo --by function --in "forward*"; kymo stats in_ranges.kymo --by function --in "step*" --json | grep '"samples"'; kymo stats in_ranges.kymo
