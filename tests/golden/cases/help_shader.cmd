kymo shader --help
