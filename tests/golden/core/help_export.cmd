kymo export --help
