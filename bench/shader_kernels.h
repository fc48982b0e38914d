// The same kernels in Metal and by hand in the languages of the backends, for shader.cc.
#pragma once

namespace bench {

inline constexpr const char* kMetal = R"(#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float* sums, device const float* in, uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  threadgroup float part[256];
  part[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = 128; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) sums[g] = part[0];
}

kernel void product(device float* c, device const float* a, device const float* b, constant uint& n,
                    uint2 i [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float left[16][16];
  threadgroup float right[16][16];
  float sum = 0;
  for (uint k = 0; k < n; k += 16) {
    left[t.y][t.x] = a[i.y * n + k + t.x];
    right[t.y][t.x] = b[(k + t.y) * n + i.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 16; ++j) sum += left[t.y][j] * right[j][t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[i.y * n + i.x] = sum;
}

// Each simdgroup computes 32 x 32 numbers, a group of four 64 x 64.
kernel void blocks(device float* c, device const float* a, device const float* b, constant uint& n,
                   uint2 g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                   uint s [[simdgroup_index_in_threadgroup]]) {
  threadgroup float left[64 * 20];
  threadgroup float right[16 * 68];
  simdgroup_float8x8 sum[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  const uint row = s / 2 * 32, column = s % 2 * 32;
  for (uint k = 0; k < n; k += 16) {
    for (uint i = t; i < 1024; i += 128) left[i / 16 * 20 + i % 16] = a[(g.y * 64 + i / 16) * n + k + i % 16];
    for (uint i = t; i < 1024; i += 128) right[i / 64 * 68 + i % 64] = b[(k + i / 64) * n + g.x * 64 + i % 64];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int m = 0; m < 16; m += 8) {
      simdgroup_float8x8 l[4], r[4];
      for (int i = 0; i < 4; ++i) simdgroup_load(l[i], left + (row + 8 * i) * 20 + m, 20);
      for (int j = 0; j < 4; ++j) simdgroup_load(r[j], right + m * 68 + column + 8 * j, 68);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) simdgroup_multiply_accumulate(sum[i][j], l[i], r[j], sum[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      simdgroup_store(sum[i][j], c + (g.y * 64 + row + 8 * i) * n + g.x * 64 + column + 8 * j, n);
}

kernel void softmax(device float* out, device const float* in, constant uint& columns,
                    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const uint row = i / 32;
  device const float* x = in + row * columns;
  device float* y = out + row * columns;
  float most = -INFINITY;
  for (uint k = lane; k < columns; k += 32) most = max(most, x[k]);
  most = simd_max(most);
  float sum = 0;
  for (uint k = lane; k < columns; k += 32) sum += exp(x[k] - most);
  sum = simd_sum(sum);
  for (uint k = lane; k < columns; k += 32) y[k] = exp(x[k] - most) / sum;
}
)";

inline constexpr const char* kOpenCl = R"(#pragma OPENCL FP_CONTRACT OFF
__kernel void reduce(__global float* sums, __global const float* in) {
  __local float part[256];
  const uint t = get_local_id(0);
  part[t] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = 128; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) sums[get_group_id(0)] = part[0];
}

__kernel void product(__global float* c, __global const float* a, __global const float* b, uint n) {
  __local float left[16][16];
  __local float right[16][16];
  const uint tx = get_local_id(0), ty = get_local_id(1), ix = get_global_id(0), iy = get_global_id(1);
  float sum = 0;
  for (uint k = 0; k < n; k += 16) {
    left[ty][tx] = a[iy * n + k + tx];
    right[ty][tx] = b[(k + ty) * n + ix];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < 16; ++j) sum += left[ty][j] * right[j][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[iy * n + ix] = sum;
}

__kernel void blocks(__global float* c, __global const float* a, __global const float* b, uint n) {
  __local float left[64 * 20];
  __local float right[16 * 68];
  const uint gx = get_group_id(0), gy = get_group_id(1), t = get_local_id(0), s = t / 32, lane = t % 32;
  const uint row = s / 2 * 32 + (lane >> 2 & 4 | lane >> 1 & 3), column = s % 2 * 32 + 2 * (lane >> 2 & 2 | lane & 1);
  float2 sum[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum[i][j] = (float2)(0);
  for (uint k = 0; k < n; k += 16) {
    for (uint i = t; i < 1024; i += 128) left[i / 16 * 20 + i % 16] = a[(gy * 64 + i / 16) * n + k + i % 16];
    for (uint i = t; i < 1024; i += 128) right[i / 64 * 68 + i % 64] = b[(k + i / 64) * n + gx * 64 + i % 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < 16; ++m) {
      float l[4];
      float2 r[4];
      for (int i = 0; i < 4; ++i) l[i] = left[(row + 8 * i) * 20 + m];
      for (int j = 0; j < 4; ++j) r[j] = vload2(0, right + m * 68 + column + 8 * j);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = fma((float2)(l[i]), r[j], sum[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) vstore2(sum[i][j], 0, c + (gy * 64 + row + 8 * i) * n + gx * 64 + column + 8 * j);
}

// Without simdgroups: the 32 threads of a row share group memory.
__kernel void softmax(__global float* out, __global const float* in, uint columns) {
  __local float part[256];
  const uint t = get_local_id(0), lane = t % 32, row = get_global_id(0) / 32;
  __global const float* x = in + row * columns;
  __global float* y = out + row * columns;
  float most = -INFINITY;
  for (uint k = lane; k < columns; k += 32) most = fmax(most, x[k]);
  for (uint s = 16; s > 0; s /= 2) {
    part[t] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    most = fmax(most, part[t ^ s]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float sum = 0;
  for (uint k = lane; k < columns; k += 32) sum += exp(x[k] - most);
  for (uint s = 16; s > 0; s /= 2) {
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += part[t ^ s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint k = lane; k < columns; k += 32) y[k] = exp(x[k] - most) / sum;
}
)";

inline constexpr const char* kCuda = R"(
extern "C" __global__ void reduce(float* sums, const float* in) {
  __shared__ float part[256];
  const unsigned t = threadIdx.x;
  part[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned s = 128; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void product(float* c, const float* a, const float* b, unsigned n) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const unsigned tx = threadIdx.x, ty = threadIdx.y, ix = blockIdx.x * 16 + tx, iy = blockIdx.y * 16 + ty;
  float sum = 0;
  for (unsigned k = 0; k < n; k += 16) {
    left[ty][tx] = a[iy * n + k + tx];
    right[ty][tx] = b[(k + ty) * n + ix];
    __syncthreads();
    for (unsigned j = 0; j < 16; ++j) sum += left[ty][j] * right[j][tx];
    __syncthreads();
  }
  c[iy * n + ix] = sum;
}

extern "C" __global__ void __launch_bounds__(128) blocks(float* c, const float* a, const float* b, unsigned n) {
  __shared__ float left[64 * 20];
  __shared__ __align__(8) float right[16 * 68];
  const unsigned gx = blockIdx.x, gy = blockIdx.y, t = threadIdx.x, s = t / 32, lane = t % 32;
  const unsigned row = s / 2 * 32 + (lane >> 2 & 4 | lane >> 1 & 3), column = s % 2 * 32 + 2 * (lane >> 2 & 2 | lane & 1);
  float2 sum[4][4] = {};
  for (unsigned k = 0; k < n; k += 16) {
    for (unsigned i = t; i < 1024; i += 128) left[i / 16 * 20 + i % 16] = a[(gy * 64 + i / 16) * n + k + i % 16];
    for (unsigned i = t; i < 1024; i += 128) right[i / 64 * 68 + i % 64] = b[(k + i / 64) * n + gx * 64 + i % 64];
    __syncthreads();
#pragma unroll
    for (int m = 0; m < 16; ++m) {
      float l[4];
      float2 r[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) l[i] = left[(row + 8 * i) * 20 + m];
#pragma unroll
      for (int j = 0; j < 4; ++j) r[j] = *(const float2*)&right[m * 68 + column + 8 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sum[i][j].x = fmaf(l[i], r[j].x, sum[i][j].x);
          sum[i][j].y = fmaf(l[i], r[j].y, sum[i][j].y);
        }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      *(float2*)&c[(gy * 64 + row + 8 * i) * n + gx * 64 + column + 8 * j] = sum[i][j];
}

extern "C" __global__ void softmax(float* out, const float* in, unsigned columns) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, row = i / 32;
  const float* x = in + row * columns;
  float* y = out + row * columns;
  float most = -__int_as_float(0x7f800000);
  for (unsigned k = lane; k < columns; k += 32) most = fmaxf(most, x[k]);
  for (unsigned s = 16; s > 0; s /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, s));
  float sum = 0;
  for (unsigned k = lane; k < columns; k += 32) sum += expf(x[k] - most);
  for (unsigned s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
  for (unsigned k = lane; k < columns; k += 32) y[k] = expf(x[k] - most) / sum;
}
)";

}  // namespace bench
