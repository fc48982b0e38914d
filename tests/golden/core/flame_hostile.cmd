kymo flame hostile.kymo -o x.folded && cat x.folded
