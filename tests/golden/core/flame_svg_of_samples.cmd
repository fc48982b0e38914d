# the title says what the times are
kymo flame sampled.kymo -o x.svg && grep -o ' of [a-z]*</text>' x.svg
