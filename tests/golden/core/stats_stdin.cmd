# A trace cannot come from a pipe.
exit: 1
kymo stats - < rich.kymo
