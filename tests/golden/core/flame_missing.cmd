exit: 1
kymo flame nothere.kymo -o x.svg
