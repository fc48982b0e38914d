# an unknown language: the good ones are named
exit: 2
cat > scale.metal <<END
kernel void scale(device float* x, constant float& factor, uint i [[thread_position_in_grid]]) {
  x[i] *= factor;
}
END
kymo shader scale.metal --to hlsl
