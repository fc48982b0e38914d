kymo timeline --help
