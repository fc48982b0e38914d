kymo roofline --help
