# The functions that called one, and the functions that one called.
kymo stats sampled.kymo --callers 'sys_*'; kymo stats in_ranges.kymo --callees 'libwork.so+0x101' --top 2
