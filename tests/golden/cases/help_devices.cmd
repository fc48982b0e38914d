kymo devices --help
