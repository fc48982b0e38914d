# A Kymo trace.
exit: 1
kymo import rich.kymo -o x.kymo
