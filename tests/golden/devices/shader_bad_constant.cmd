# a value that is no number
exit: 2
echo 'kernel void f() {}' > f.metal
kymo shader f.metal -C mask=yes
