# the rows of two processes come together
kymo stats both.kymo --sort count
