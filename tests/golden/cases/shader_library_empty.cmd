# a library needs kernels
echo 'float twice(float x) { return 2 * x; }' > twice.metal
kymo shader twice.metal -o twice.kymolib
