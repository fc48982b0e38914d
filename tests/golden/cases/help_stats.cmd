kymo stats --help
