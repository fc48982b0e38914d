kymo record --help
