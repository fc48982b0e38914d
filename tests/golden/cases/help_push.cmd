kymo push --help
