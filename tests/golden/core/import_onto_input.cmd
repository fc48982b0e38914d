# The output is an input, or is not a trace.
exit: 1
echo '[]' >a.json; kymo import a.json -o a.json; echo text >b.txt; kymo import a.json -o b.txt
