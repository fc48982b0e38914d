kymo flame --help
