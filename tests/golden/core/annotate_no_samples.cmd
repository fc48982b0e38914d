# A trace without samples.
exit: 1
kymo annotate rich.kymo main
