# nothing is left behind
exit: 127
kymo record -- no-such-program; code=$?
ls no-such-program.kymo 2>/dev/null
exit $code
