mask: [0-9]+\.[0-9]+\.[0-9]+
kymod --version
