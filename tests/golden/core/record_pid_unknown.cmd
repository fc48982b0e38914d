exit: 1
kymo record --pid 2000000000 -o run.kymo; code=$?; ls run.kymo 2> /dev/null; exit $code
