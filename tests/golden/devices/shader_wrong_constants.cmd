# a value that the type cannot hold, and a constant with two values
exit: 1
cat > tint.metal <<END
constant int factor [[function_constant(0)]];
constant bool is_on [[function_constant(2)]];
constant float tint [[function_constant(3)]];
kernel void f(device float* x) { x[0] = factor + is_on + tint; }
END
kymo shader tint.metal -C factor=1 -C 0=2 -C is_on=2 -C tint=1e39
