kymo daemon --help
