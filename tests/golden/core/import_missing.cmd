# A file that does not exist.
exit: 1
kymo import nothing.json -o x.kymo
