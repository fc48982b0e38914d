// The pieces of prelude_cuda.cu for what threads do together: atomics, positions in the grid, simdgroups.

//# atomic_compare_exchange: types
__device__ int kymo_atomic_compare_exchange(int* p, int expected, int value) { return atomicCAS(p, expected, value); }
__device__ uint kymo_atomic_compare_exchange(uint* p, uint expected, uint value) {
  return atomicCAS(p, expected, value);
}
__device__ ulong kymo_atomic_compare_exchange(ulong* p, ulong expected, ulong value) {
  return atomicCAS((unsigned long long*)p, (unsigned long long)expected, (unsigned long long)value);
}
__device__ float kymo_atomic_compare_exchange(float* p, float expected, float value) {
  return __uint_as_float(atomicCAS((uint*)p, __float_as_uint(expected), __float_as_uint(value)));
}

//# atomic_exchange: types
template <class T>
__device__ T kymo_atomic_exchange(T* p, T value) {
  return atomicExch(p, value);
}
__device__ ulong kymo_atomic_exchange(ulong* p, ulong value) {
  return atomicExch((unsigned long long*)p, (unsigned long long)value);
}

//# atomic_add: types
template <class T>
__device__ T kymo_atomic_add(T* p, T value) {
  return atomicAdd(p, value);
}
__device__ ulong kymo_atomic_add(ulong* p, ulong value) {
  return atomicAdd((unsigned long long*)p, (unsigned long long)value);
}

//# atomic_subtract: types
__device__ int kymo_atomic_subtract(int* p, int value) { return atomicSub(p, value); }
__device__ uint kymo_atomic_subtract(uint* p, uint value) { return atomicSub(p, value); }
__device__ ulong kymo_atomic_subtract(ulong* p, ulong value) { return atomicAdd((unsigned long long*)p, 0ull - value); }
__device__ float kymo_atomic_subtract(float* p, float value) { return atomicAdd(p, -value); }

//# atomic_integer NAME FUNCTION: types
template <class T>
__device__ T kymo_atomic_NAME(T* p, T value) {
  return FUNCTION(p, value);
}
__device__ ulong kymo_atomic_NAME(ulong* p, ulong value) {
  return FUNCTION((unsigned long long*)p, (unsigned long long)value);
}

//# atomic_float NAME COMBINED: atomic_compare_exchange
__device__ float kymo_atomic_NAME(float* p, float value) {
  uint seen = *(volatile uint*)p, expected;
  do {
    expected = seen;
    const float old = __uint_as_float(expected);
    seen = kymo_atomic_compare_exchange((uint*)p, expected, __float_as_uint(COMBINED));
  } while (seen != expected);
  return __uint_as_float(seen);
}

//# group_memory
extern __shared__ __align__(16) unsigned char kymo_group_memory[];

//# grid: types
// What the runtime says of a launch: its threads, the threads of a whole group, and where this piece of it begins.
struct kymo_grid_type {
  uint threads[3], group[3], offset[3];
};

//# grid_position: vector
__device__ kymo_vec<uint, 3> kymo_grid_position() {
  return {blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
          blockIdx.z * blockDim.z + threadIdx.z};
}

//# grid_position_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_grid_position(const kymo_grid_type& grid) {
  return {grid.offset[0] + blockIdx.x * blockDim.x + threadIdx.x,
          grid.offset[1] + blockIdx.y * blockDim.y + threadIdx.y,
          grid.offset[2] + blockIdx.z * blockDim.z + threadIdx.z};
}

//# group_position: vector
__device__ kymo_vec<uint, 3> kymo_group_position() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }

//# group_index: vector
__device__ kymo_vec<uint, 3> kymo_group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }

//# group_index_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_group_index(const kymo_grid_type& grid) {
  return {grid.offset[0] / grid.group[0] + blockIdx.x, grid.offset[1] / grid.group[1] + blockIdx.y,
          grid.offset[2] / grid.group[2] + blockIdx.z};
}

//# group_size_in_piece: vector, grid
// The last group of a dimension may lack threads.
__device__ uint kymo_group_size(const kymo_grid_type& grid, int d, uint group, uint block) {
  const uint left = grid.threads[d] - grid.offset[d] - block * group;
  return left < group ? left : group;
}
__device__ kymo_vec<uint, 3> kymo_group_size(const kymo_grid_type& grid) {
  return {kymo_group_size(grid, 0, blockDim.x, blockIdx.x), kymo_group_size(grid, 1, blockDim.y, blockIdx.y),
          kymo_group_size(grid, 2, blockDim.z, blockIdx.z)};
}

//# grid_size_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_grid_size(const kymo_grid_type& grid) {
  return {grid.threads[0], grid.threads[1], grid.threads[2]};
}

//# full_group_size: vector
__device__ kymo_vec<uint, 3> kymo_full_group_size() { return {blockDim.x, blockDim.y, blockDim.z}; }

//# full_group_size_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_full_group_size(const kymo_grid_type& grid) {
  return {grid.group[0], grid.group[1], grid.group[2]};
}

//# group_count: vector
__device__ kymo_vec<uint, 3> kymo_group_count() { return {gridDim.x, gridDim.y, gridDim.z}; }

//# group_count_in_piece: vector, grid
__device__ uint kymo_group_count(uint threads, uint group) { return threads / group + (threads % group != 0); }
__device__ kymo_vec<uint, 3> kymo_group_count(const kymo_grid_type& grid) {
  return {kymo_group_count(grid.threads[0], grid.group[0]), kymo_group_count(grid.threads[1], grid.group[1]),
          kymo_group_count(grid.threads[2], grid.group[2])};
}

//# thread_in_group: types
__device__ uint kymo_thread_in_group() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

//# simd: thread_in_group
// Simdgroups are warps. All threads of a warp that have not exited come to every operation, so it may name all of them;
// those with `active` take part.
constexpr uint kymo_all_lanes = 0xffffffffu;
__device__ uint kymo_simd_lanes(bool active) { return __ballot_sync(kymo_all_lanes, active); }

//# simd_tree: simd
// Each thread holds the sum of those whose lane is like its own in the bits that were not yet combined. Where lanes are
// missing it takes the other sum from one that is there.
template <class T, class F>
__device__ T kymo_simd_tree(T value, bool active, F combine) {
  const uint lanes = kymo_simd_lanes(active);
  if (lanes == kymo_all_lanes) {
    for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(kymo_all_lanes, value, step));
    return value;
  }
  const uint me = kymo_thread_in_group() & 31u;
  for (uint step = 16; step > 0; step /= 2) {
    uint others = 0;
    for (uint lane = (me ^ step) & (2 * step - 1); lane < 32; lane += 2 * step) others |= 1u << lane;
    others &= lanes;
    const T other = __shfl_sync(kymo_all_lanes, value, others != 0 ? __ffs(others) - 1 : me);
    if (others != 0) value = combine(value, other);
  }
  return value;
}

//# simd_reduce NAME COMBINED: simd_tree
template <class T>
__device__ T kymo_simd_NAME(T value, bool active) {
  return kymo_simd_tree(value, active, [](T a, T b) { return COMBINED; });
}

//# simd_scan: simd
// In the order of lanes, so that sums of floats are the same everywhere.
template <class T, class F>
__device__ T kymo_simd_scan(T value, bool active, bool inclusive, T start, F combine) {
  const uint lanes = kymo_simd_lanes(active), me = kymo_thread_in_group() & 31u;
  T all = start;
  bool is_first = true;
  for (uint lane = 0; lane < 32; ++lane) {
    const T one = __shfl_sync(kymo_all_lanes, value, lane);
    if ((lanes >> lane & 1u) == 0 || lane > me || (lane == me && !inclusive)) continue;
    all = is_first ? one : combine(all, one);
    is_first = false;
  }
  return all;
}

//# simd_inclusive NAME OPERATOR START: simd_scan
template <class T>
__device__ T kymo_simd_inclusive_NAME(T value, bool active) {
  return kymo_simd_scan(value, active, true, (T)START, [](T a, T b) { return (T)(a OPERATOR b); });
}

//# simd_exclusive NAME OPERATOR START: simd_scan
template <class T>
__device__ T kymo_simd_exclusive_NAME(T value, bool active) {
  return kymo_simd_scan(value, active, false, (T)START, [](T a, T b) { return (T)(a OPERATOR b); });
}

//# simd_shuffle: simd
template <class T>
__device__ T kymo_simd_shuffle(T value, uint lane, bool active) {
  const uint lanes = kymo_simd_lanes(active);
  const T given = __shfl_sync(kymo_all_lanes, value, lane & 31u);
  return lane < 32 && (lanes >> lane & 1u) != 0 ? given : value;
}

//# simd_shuffle_of_all
// Not volatile: a shuffle whose result nobody uses is removed. __shfl_sync would stay.
__device__ float kymo_simd_shuffle_of_all(float value, uint lane) {
  float given;
  asm("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(given) : "f"(value), "r"(lane));
  return given;
}
__device__ uint kymo_simd_shuffle_of_all(uint value, uint lane) {
  uint given;
  asm("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(given) : "r"(value), "r"(lane));
  return given;
}
//# simd_matrix TYPE: vector, simd
// A product of 8 x 8 x 8, as the upper half of one of 16 x 8 x 8. The second operand of mma is held by columns.
__device__ kymo_vec<float, 2> kymo_simd_matrix_TYPE(kymo_vec<float, 2> a, kymo_vec<float, 2> b, kymo_vec<float, 2> sum) {
#if __CUDA_ARCH__ >= 800
  uint left, rows, columns;
  float unused0, unused1;
  asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(left) : "f"(a.y), "f"(a.x));
  asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(rows) : "f"(b.y), "f"(b.x));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(columns) : "r"(rows));
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.TYPE.TYPE.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=f"(sum.x), "=f"(sum.y), "=f"(unused0), "=f"(unused1)
      : "r"(left), "r"(0u), "r"(columns), "f"(sum.x), "f"(sum.y), "f"(0.0f), "f"(0.0f));
#else
  const uint lane = kymo_thread_in_group() & 31u, pair = lane & 3u;
  for (uint k = 0; k < 4; ++k) {
    const uint left = (lane & ~3u) + k, upper = 8 * k + pair, lower = upper + 4;
    const float ax = __shfl_sync(kymo_all_lanes, a.x, left), ay = __shfl_sync(kymo_all_lanes, a.y, left);
    sum.x = fmaf(ax, __shfl_sync(kymo_all_lanes, b.x, upper), sum.x);
    sum.y = fmaf(ax, __shfl_sync(kymo_all_lanes, b.y, upper), sum.y);
    sum.x = fmaf(ay, __shfl_sync(kymo_all_lanes, b.x, lower), sum.x);
    sum.y = fmaf(ay, __shfl_sync(kymo_all_lanes, b.y, lower), sum.y);
  }
#endif
  return sum;
}

//# simd_ballot: simd
__device__ uint kymo_simd_ballot(bool value, bool active) { return kymo_simd_lanes(active && value); }

//# warp_any: simd
__device__ bool kymo_warp_any(bool value) { return __any_sync(kymo_all_lanes, value); }

//# group_any:
__device__ bool kymo_group_any(bool value) { return __syncthreads_or(value) != 0; }
