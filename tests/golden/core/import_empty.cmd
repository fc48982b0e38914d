# A gzip file with nothing in it, one that ends too early, and an empty file.
exit: 1
gzip </dev/null >e.json.gz; kymo report e.json.gz; kymo import e.json.gz -o x.kymo
head -c 5 e.json.gz >cut.json.gz; kymo report cut.json.gz
: >z.json; kymo import z.json -o x.kymo
