# the kernels of a source, with their arguments in the order of a caller
cat > blur.metal <<END
  #include <metal_stdlib>
  #include <c10/metal/error.h>
using namespace metal;
struct Settings { int radius; float weights[9]; };
struct Inputs { array<device float*, 4> parts; };
kernel void blur(device float* out [[buffer(1)]], device const half* in [[buffer(0)]], constant Settings& settings [[buffer(2)]],
                 constant float3& tint [[buffer(3)]], threadgroup float* tile [[threadgroup(0)]],
                 uint2 at [[thread_position_in_grid]]) {
  tile[0] = settings.weights[0] * tint.x;
  out[at.x] = tile[0] + float(in[at.y]) + settings.radius;
}
kernel void gather(device int* out, constant Inputs& inputs, constant long& count, device c10::metal::ErrorMessages* errors) {
  if (count > 4) TORCH_REPORT_ERROR(errors, "too many");
  out[0] = inputs.parts[0][0];
}
kernel void nothing() {}
END
kymo shader blur.metal
