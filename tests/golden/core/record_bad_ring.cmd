exit: 2
kymo record --ring-size 1KiB -- true
