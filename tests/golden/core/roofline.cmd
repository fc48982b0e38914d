# What kernels compute and move against the peaks of their GPU, and a picture of it.
kymo roofline gpu_slow.kymo -o x.svg && grep -c '<circle' x.svg && kymo roofline rich.kymo -o y.svg; echo $?; ls *.svg
