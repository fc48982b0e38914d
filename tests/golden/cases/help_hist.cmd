kymo hist --help
