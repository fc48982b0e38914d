# Numbers that are too large or negative.
exit: 2
for factor in 1e9 -1 1e999 nan; do kymo path rich.kymo --what-if "step*=$factor"; done; kymo path rich.kymo --iteration 99999999999999999999999
