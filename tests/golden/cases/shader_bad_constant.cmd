# a value that is no number
echo 'kernel void f() {}' > f.metal
kymo shader f.metal -C mask=yes
