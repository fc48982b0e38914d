# Of sampled programs: functions, also with too few runs for a statement.
kymo diff sampled.kymo in_ranges.kymo; kymo diff sampled.kymo in_ranges.kymo --json | tail -40
