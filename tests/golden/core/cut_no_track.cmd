exit: 1
kymo cut both.kymo -o part.kymo --track wrker
