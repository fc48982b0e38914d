# fails before the program starts
exit: 1
kymo record -o none/run.kymo -- touch started; code=$?
ls started 2>/dev/null
exit $code
