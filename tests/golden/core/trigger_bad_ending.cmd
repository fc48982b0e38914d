exit: 2
kymo trigger --all -o trace.txt
