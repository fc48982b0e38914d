# kymo flame writes flame graphs, and not kymo export
exit: 2
kymo export rich.kymo -o rich.speedscope.json
