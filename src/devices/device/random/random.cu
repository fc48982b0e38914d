// The fills in CUDA C++ for NVRTC: one of the texts that fill_source.h puts together. fill.h says how they are
// launched. The core's sums are not fused even without --fmad=false.
//
// Each thread takes every (gridDim.x * blockDim.x)-th block, so any number of threads is right. A block's elements go
// out in one store where the output is aligned for that, else one by one; so do those of the last block where it is not
// full.

template <int kWidth>  // bytes of an element
struct Output {
  static constexpr int kElements = kWidth == 8 ? 2 : 4;  // of a block
  static constexpr int kBytes = kWidth * kElements;

  static __device__ __forceinline__ void store_block(void* out, ulong block, uint4 v) {
    if constexpr (kWidth == 1)
      static_cast<uint*>(out)[block] = (v.x & 255u) | (v.y & 255u) << 8 | (v.z & 255u) << 16 | v.w << 24;
    else if constexpr (kWidth == 2)
      static_cast<uint2*>(out)[block] = make_uint2((v.x & 65535u) | v.y << 16, (v.z & 65535u) | v.w << 16);
    else
      static_cast<uint4*>(out)[block] = v;
  }

  static __device__ __forceinline__ void store_some(void* out, ulong block, uint4 v, uint count) {
    const ulong first = block * kElements;
    const uint words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (uint i = 0; i < kElements; ++i) {
      if (i >= count) break;
      if constexpr (kWidth == 1)
        static_cast<unsigned char*>(out)[first + i] = static_cast<unsigned char>(words[i]);
      else if constexpr (kWidth == 2)
        static_cast<unsigned short*>(out)[first + i] = static_cast<unsigned short>(words[i]);
      else if constexpr (kWidth == 4)
        static_cast<uint*>(out)[first + i] = words[i];
      else
        static_cast<ulong*>(out)[first + i] = kymo_join(words[2 * i + 1], words[2 * i]);
    }
  }
};

template <int kWidth, class Values>
__device__ __forceinline__ void kymo_fill(void* out, ulong count, ulong seed, ulong offset, Values values) {
  using Out = Output<kWidth>;
  const ulong full = count / Out::kElements;
  const ulong stride = static_cast<ulong>(gridDim.x) * blockDim.x;
  ulong block = static_cast<ulong>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (reinterpret_cast<ulong>(out) % Out::kBytes == 0) {
    for (; block < full; block += stride) Out::store_block(out, block, values(kymo_block(seed, offset + block)));
  } else {
#pragma unroll 1
    for (; block < full; block += stride)
      Out::store_some(out, block, values(kymo_block(seed, offset + block)), Out::kElements);
  }
  const uint rest = static_cast<uint>(count % Out::kElements);
  if (block == full && rest != 0) Out::store_some(out, block, values(kymo_block(seed, offset + block)), rest);
}

// The hardware's own rounding: the same as kymo_half and kymo_bfloat, in one instruction.
__device__ __forceinline__ uint kymo_fast_half(uint bits) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(bits)));
  return half;
}
__device__ __forceinline__ uint kymo_fast_bfloat(uint bits) {
#if __CUDA_ARCH__ >= 800
  unsigned short bfloat;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bfloat) : "f"(__uint_as_float(bits)));
  return bfloat;
#else
  return kymo_bfloat(bits);
#endif
}
__device__ __forceinline__ uint4 kymo_fast_half_values(uint4 v) {
  return make_uint4(kymo_fast_half(v.x), kymo_fast_half(v.y), kymo_fast_half(v.z), kymo_fast_half(v.w));
}
__device__ __forceinline__ uint4 kymo_fast_bfloat_values(uint4 v) {
  return make_uint4(kymo_fast_bfloat(v.x), kymo_fast_bfloat(v.y), kymo_fast_bfloat(v.z), kymo_fast_bfloat(v.w));
}

// Groups of up to 512 threads. MINIMUM of them on a multiprocessor: three are the fastest for the normal kernels, whose
// loops would otherwise take more registers than three leave.
#define KYMO_KERNEL(NAME, MINIMUM)                                            \
  extern "C" __global__ void __launch_bounds__(512, MINIMUM)                  \
      kymo_random_##NAME(void* out, ulong count, ulong seed, ulong offset, ulong x, ulong y, ulong z)
#define KYMO_FILL(NAME, WIDTH, VALUES)                                                              \
  KYMO_KERNEL(NAME, 2) {                                                                            \
    kymo_fill<WIDTH>(out, count, seed, offset, [=](uint4 words) { return VALUES; });                \
  }

#if KYMO_FAMILY == KYMO_UNIFORM

KYMO_FILL(uniform_f32, 4, kymo_uniform_values(words, x, y))
KYMO_FILL(uniform_f16, 2, kymo_fast_half_values(kymo_uniform_values(words, x, y)))
KYMO_FILL(uniform_bf16, 2, kymo_fast_bfloat_values(kymo_uniform_values(words, x, y)))

#elif KYMO_FAMILY == KYMO_NORMAL

// The normal's table in shared memory. A warp's 16-byte reads are served eight lanes at a time, so each of eight lanes
// has a copy of its own, in banks of its own: lanes that look up different rows never wait for each other. 32.9 KB a
// group.
#define KYMO_COPIES 8

// The address of this lane's copy of row 0, in the window of shared memory: 32 bits, half the arithmetic of a pointer.
__device__ __forceinline__ uint kymo_load_table(uint4* table) {
  for (uint i = threadIdx.x; i < KYMO_NORMAL_ROWS * KYMO_COPIES; i += blockDim.x)
    table[i] = __ldg(&kymo_normal_table[i / KYMO_COPIES]);
  __syncthreads();
  uint address;  // known only from here on: no look-up, of which the compiler sees no memory, can move above
  asm volatile("mov.u32 %0, %1;"
               : "=r"(address)
               : "r"(static_cast<uint>(__cvta_generic_to_shared(table + threadIdx.x % KYMO_COPIES)))
               : "memory");
  return address;
}

struct Normal {
  uint table;
  float mean, deviation;
  __device__ __forceinline__ uint one(uint word) const {
    const uint key = kymo_normal_key(word);
    const uint at = table + kymo_normal_row(key) * static_cast<uint>(KYMO_COPIES * sizeof(uint4));
    uint4 row;
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(row.x), "=r"(row.y), "=r"(row.z), "=r"(row.w) : "r"(at));
    return kymo_normal(word, key, row, mean, deviation);
  }
  __device__ __forceinline__ uint4 operator()(uint4 w) const {
    return make_uint4(one(w.x), one(w.y), one(w.z), one(w.w));
  }
};

#define KYMO_NORMAL_FILL(NAME, WIDTH, ROUNDED)                                                      \
  KYMO_KERNEL(NAME, 3) {                                                                            \
    __shared__ uint4 table[KYMO_NORMAL_ROWS * KYMO_COPIES];                                         \
    const Normal normal{kymo_load_table(table), KYMO_NORMAL_MEAN(x), KYMO_NORMAL_DEVIATION(x)};     \
    kymo_fill<WIDTH>(out, count, seed, offset, [=](uint4 words) { return ROUNDED(normal(words)); }); \
  }

KYMO_NORMAL_FILL(normal_f32, 4, )
KYMO_NORMAL_FILL(normal_f16, 2, kymo_fast_half_values)
KYMO_NORMAL_FILL(normal_bf16, 2, kymo_fast_bfloat_values)

#elif KYMO_FAMILY == KYMO_RANDINT

KYMO_FILL(randint_8, 1, kymo_integer_values(words, x, y))
KYMO_FILL(randint_16, 2, kymo_integer_values(words, x, y))
KYMO_FILL(randint_32, 4, kymo_integer_values(words, x, y))
KYMO_FILL(randint_64, 8, kymo_wide_integer_values(words, x, y, z))
KYMO_FILL(randint_f32, 4, kymo_float_integer_values(words, x, y))
KYMO_FILL(randint_f16, 2, kymo_fast_half_values(kymo_float_integer_values(words, x, y)))
KYMO_FILL(randint_bf16, 2, kymo_fast_bfloat_values(kymo_float_integer_values(words, x, y)))

#elif KYMO_FAMILY == KYMO_BERNOULLI

KYMO_FILL(bernoulli_8, 1, kymo_bernoulli_values(words, x, y))
KYMO_FILL(bernoulli_16, 2, kymo_bernoulli_values(words, x, y))
KYMO_FILL(bernoulli_32, 4, kymo_bernoulli_values(words, x, y))
KYMO_FILL(bernoulli_64, 8, kymo_wide_bernoulli_values(words, x, y))

#endif
