# errors as compilers print them
exit: 1
cat > wrong.metal <<END
kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  float twice = in[i] * 2;
  out[j] = 2;
}
END
kymo shader wrong.metal --to cuda
