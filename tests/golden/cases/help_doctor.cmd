kymo doctor --help
