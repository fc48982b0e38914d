mask: (?<="bytes": )[0-9]+
kymo record --json -o run.kymo -- sh -c "exit 3"; echo $?
