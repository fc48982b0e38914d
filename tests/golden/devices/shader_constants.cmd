# values of function constants: hexadecimal numbers and vectors; one warning names those without a value
cat > tint.metal <<END
constant int factor [[function_constant(0)]];
constant float3 tint [[function_constant(1)]];
constant bool is_on [[function_constant(2)]];
constant int offset [[function_constant(3)]];
kernel void f(device float* x) { x[0] = factor * tint.z + is_on + offset; }
END
kymo shader tint.metal -C factor=0x10 -C tint=1,2,0.5 --to opencl | grep 'x\[0\]'
