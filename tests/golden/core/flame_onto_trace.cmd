# an export can be made again, a recording cannot
exit: 1
cp rich.kymo rich.svg && kymo flame rich.kymo -o rich.svg
