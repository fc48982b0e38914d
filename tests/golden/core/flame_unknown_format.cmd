exit: 2
kymo flame rich.kymo -o x.png
