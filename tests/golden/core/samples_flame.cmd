# Functions inside the innermost range of their time.
kymo flame in_ranges.kymo --by function; kymo flame sampled.kymo | wc -l
