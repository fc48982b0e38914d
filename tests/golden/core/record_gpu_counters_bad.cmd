exit: 2
kymo record --gpu-counters occupancy -- true
