mask: [0-9]+\.[0-9]+\.[0-9]+
kymo --version
