kymo record --quiet -- true
