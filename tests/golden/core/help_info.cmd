kymo info --help
