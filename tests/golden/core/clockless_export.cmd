exit: 3
kymo export clockless.kymo -o out.csv --strict; code=$?
cat out.csv
exit $code
