exit: 2
kymo flame rich.kymo --compare both.kymo -o x.speedscope.json
