# SPIR-V goes into a pipe or a file: its magic number
skip: this Kymo was built without Vulkan
cat > scale.metal <<END
kernel void scale(device float* x, constant float& factor, uint i [[thread_position_in_grid]]) {
  x[i] *= factor;
}
END
kymo shader scale.metal --to spirv | od -An -tx4 -N4
