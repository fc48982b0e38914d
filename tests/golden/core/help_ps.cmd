kymo ps --help
