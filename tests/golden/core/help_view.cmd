kymo view --help
