# 0 needs no unit; a wrong time is quoted with its sign.
exit: 2
kymo cut rich.kymo -o part.kymo --from 0 --to 10ms; kymo cut rich.kymo -o part.kymo --from -1
