# no byte at all
exit: 1
kymo memory empty.kymo
