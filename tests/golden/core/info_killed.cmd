# the program was killed before the end of its window
kymo info killed.kymo
