kymo trigger --help
