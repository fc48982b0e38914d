kymo watch --help
