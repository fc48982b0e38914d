kymo status --help
