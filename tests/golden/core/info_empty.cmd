exit: 1
kymo info empty.kymo
