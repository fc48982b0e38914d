# the file that the user named, not a temporary one
exit: 1
(ulimit -f 1; kymo cut rich.kymo -o part.kymo --from 1ms)
