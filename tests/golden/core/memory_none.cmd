# a trace without allocations says so
kymo memory rich.kymo
