# every command, each with one line
kymo --help
