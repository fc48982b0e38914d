exit: 1
kymo timeline both.kymo --track wrker
