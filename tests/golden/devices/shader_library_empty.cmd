# a library needs kernels
exit: 1
echo 'float twice(float x) { return 2 * x; }' > twice.metal
kymo shader twice.metal -o twice.kymolib
