# A JSON file without events, and a text file.
exit: 1
echo '{"a": 1}' >a.json; kymo import a.json -o x.kymo; echo hello >b.txt; kymo import b.txt -o x.kymo
