kymo capture-info --help
