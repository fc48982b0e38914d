# the source from standard input, a macro from the command line, the text into a file
printf 'kernel void f(device int* x) { x[0] = N; }' | kymo shader - -DN=42 --to opencl -o f.cl
grep -c 42 f.cl
