# the end is not in the part
exit: 2
kymo cut rich.kymo -o part.kymo --from 5ms --to 5ms
