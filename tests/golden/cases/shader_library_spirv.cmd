# a library has source text in it
echo 'kernel void f() {}' > f.metal
kymo shader f.metal --to spirv -o f.kymolib
