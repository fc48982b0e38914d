# No sample has the function.
exit: 1
kymo annotate sampled.kymo sys_raed
