kymo flame both.kymo -o x.speedscope.json && cat x.speedscope.json
