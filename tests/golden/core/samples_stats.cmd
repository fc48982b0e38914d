# A trace that has only samples is shown by function.
kymo stats sampled.kymo
