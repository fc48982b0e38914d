exit: 1
kymo memory rich.kymo -o x.html
