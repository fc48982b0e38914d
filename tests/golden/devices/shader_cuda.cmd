# a small kernel in another language
cat > scale.metal <<END
kernel void scale(device float* x, constant float& factor, uint i [[thread_position_in_grid]]) {
  x[i] *= factor;
}
END
kymo shader scale.metal --to cuda
