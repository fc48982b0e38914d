# The annotations and samples of a process are one process; the samples have no row.
kymo report in_ranges.kymo | head -1; kymo timeline in_ranges.kymo
