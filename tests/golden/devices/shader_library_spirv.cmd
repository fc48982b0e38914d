# a library has source text in it
exit: 2
echo 'kernel void f() {}' > f.metal
kymo shader f.metal --to spirv -o f.kymolib
