kymo cancel --help
