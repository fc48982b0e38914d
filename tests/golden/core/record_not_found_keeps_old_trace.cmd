# an older trace of that name is not touched
cp rich.kymo old.kymo
kymo record -o old.kymo -- no-such-program
cmp rich.kymo old.kymo && echo untouched
