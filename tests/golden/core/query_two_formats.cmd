exit: 2
kymo query rich.kymo 'SELECT 1' --csv --json
