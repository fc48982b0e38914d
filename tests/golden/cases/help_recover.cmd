kymo recover --help
