kymo env --help
