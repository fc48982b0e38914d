// What OpenCL C lacks. A program gets only the pieces that it uses. A piece begins with a line "//# NAME WORDS: NEEDS":
// its name, the words in it that are replaced for each use, and the pieces that it needs. No function is static: see
// opencl.cc.

//# half_to_float
float kymo_half_to_float(ushort bits) { return vload_half(0, (const half*)&bits); }

//# float_to_half
ushort kymo_float_to_half(float value) {
  ushort bits;
  vstore_half_rte(value, 0, (half*)&bits);
  return bits;
}

//# half_to_float_vector COUNT
floatCOUNT kymo_half_to_floatCOUNT(ushortCOUNT bits) { return vload_halfCOUNT(0, (const half*)&bits); }

//# float_to_half_vector COUNT
ushortCOUNT kymo_float_to_halfCOUNT(floatCOUNT value) {
  ushortCOUNT bits;
  vstore_halfCOUNT_rte(value, 0, (half*)&bits);
  return bits;
}

//# round_to_half: half_to_float, float_to_half
float kymo_round_to_half(float value) { return kymo_half_to_float(kymo_float_to_half(value)); }

//# round_to_half_vector COUNT: half_to_float_vector COUNT, float_to_half_vector COUNT
floatCOUNT kymo_round_to_halfCOUNT(floatCOUNT value) {
  return kymo_half_to_floatCOUNT(kymo_float_to_halfCOUNT(value));
}

//# bfloat_to_float
float kymo_bfloat_to_float(ushort bits) { return as_float((uint)bits << 16); }

//# float_to_bfloat
ushort kymo_float_to_bfloat(float value) { return (ushort)(as_uint(value) >> 16); }

//# bfloat_to_float_vector COUNT
floatCOUNT kymo_bfloat_to_floatCOUNT(ushortCOUNT bits) { return as_floatCOUNT(convert_uintCOUNT(bits) << 16u); }

//# float_to_bfloat_vector COUNT
ushortCOUNT kymo_float_to_bfloatCOUNT(floatCOUNT value) {
  return convert_ushortCOUNT(as_uintCOUNT(value) >> 16u);
}

//# round_to_bfloat
float kymo_round_to_bfloat(float value) {
  const uint bits = as_uint(value);
  const uint rounded = isnan(value) ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
  return as_float(rounded & 0xffff0000u);
}

//# round_to_bfloat_vector COUNT
floatCOUNT kymo_round_to_bfloatCOUNT(floatCOUNT value) {
  const uintCOUNT bits = as_uintCOUNT(value);
  const uintCOUNT rounded = select(bits + 0x7fffu + (bits >> 16u & 1u), bits | 0x400000u, isnan(value));
  return as_floatCOUNT(rounded & 0xffff0000u);
}

//# component2 TYPE
TYPE kymo_component_TYPE2(TYPE2 v, uint i) { return i == 0 ? v.x : v.y; }

//# component3 TYPE
TYPE kymo_component_TYPE3(TYPE3 v, uint i) { return i == 0 ? v.x : i == 1 ? v.y : v.z; }

//# component4 TYPE
TYPE kymo_component_TYPE4(TYPE4 v, uint i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

//# reverse_bits_8 TYPE
TYPE kymo_reverse_bits_TYPE(TYPE v) {
  v = (v >> (uchar)1 & (uchar)0x55) | (v & (uchar)0x55) << (uchar)1;
  v = (v >> (uchar)2 & (uchar)0x33) | (v & (uchar)0x33) << (uchar)2;
  return v >> (uchar)4 | v << (uchar)4;
}

//# reverse_bits_16 TYPE
TYPE kymo_reverse_bits_TYPE(TYPE v) {
  v = (v >> (ushort)1 & (ushort)0x5555) | (v & (ushort)0x5555) << (ushort)1;
  v = (v >> (ushort)2 & (ushort)0x3333) | (v & (ushort)0x3333) << (ushort)2;
  v = (v >> (ushort)4 & (ushort)0x0f0f) | (v & (ushort)0x0f0f) << (ushort)4;
  return v >> (ushort)8 | v << (ushort)8;
}

//# reverse_bits_32 TYPE
TYPE kymo_reverse_bits_TYPE(TYPE v) {
  v = (v >> 1u & 0x55555555u) | (v & 0x55555555u) << 1u;
  v = (v >> 2u & 0x33333333u) | (v & 0x33333333u) << 2u;
  v = (v >> 4u & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4u;
  v = (v >> 8u & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8u;
  return v >> 16u | v << 16u;
}

//# reverse_bits_64 TYPE
TYPE kymo_reverse_bits_TYPE(TYPE v) {
  v = (v >> 1ul & 0x5555555555555555ul) | (v & 0x5555555555555555ul) << 1ul;
  v = (v >> 2ul & 0x3333333333333333ul) | (v & 0x3333333333333333ul) << 2ul;
  v = (v >> 4ul & 0x0f0f0f0f0f0f0f0ful) | (v & 0x0f0f0f0f0f0f0f0ful) << 4ul;
  v = (v >> 8ul & 0x00ff00ff00ff00fful) | (v & 0x00ff00ff00ff00fful) << 8ul;
  v = (v >> 16ul & 0x0000ffff0000fffful) | (v & 0x0000ffff0000fffful) << 16ul;
  return v >> 32ul | v << 32ul;
}

//# atomic_float NAME SPACE COMBINED
float kymo_atomic_NAME(volatile SPACE float* place, float value) {
  volatile SPACE uint* bits = (volatile SPACE uint*)place;
  uint seen = *bits, expected;
  do {
    expected = seen;
    const float old = as_float(expected);
    seen = atomic_cmpxchg(bits, expected, as_uint(COMBINED));
  } while (seen != expected);
  return as_float(seen);
}

//# atomic_64
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

//# atomic_64_more
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

//# grid
// What the runtime says of a launch: its threads, and the threads of a whole group.
typedef struct {
  uint threads[3], group[3], offset[3];
} kymo_grid_type;

//# grid_position
uint3 kymo_grid_position(void) {
  return (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
}

//# group_position
uint3 kymo_group_position(void) {
  return (uint3)((uint)get_local_id(0), (uint)get_local_id(1), (uint)get_local_id(2));
}

//# group_size
uint3 kymo_group_size(void) {
  return (uint3)((uint)get_local_size(0), (uint)get_local_size(1), (uint)get_local_size(2));
}

//# grid_size: grid
uint3 kymo_grid_size(kymo_grid_type grid) { return (uint3)(grid.threads[0], grid.threads[1], grid.threads[2]); }

//# full_group_size: grid
uint3 kymo_full_group_size(kymo_grid_type grid) { return (uint3)(grid.group[0], grid.group[1], grid.group[2]); }

//# group_index: grid
uint kymo_group_index_in(kymo_grid_type grid, uint d) {
  return (uint)get_group_id(d) + grid.offset[d] / grid.group[d];
}
uint3 kymo_group_index(kymo_grid_type grid) {
  return (uint3)(kymo_group_index_in(grid, 0), kymo_group_index_in(grid, 1), kymo_group_index_in(grid, 2));
}

//# group_count: grid
uint kymo_group_count_in(kymo_grid_type grid, uint d) {
  return grid.threads[d] / grid.group[d] + (grid.threads[d] % grid.group[d] != 0);
}
uint3 kymo_group_count(kymo_grid_type grid) {
  return (uint3)(kymo_group_count_in(grid, 0), kymo_group_count_in(grid, 1), kymo_group_count_in(grid, 2));
}

//# thread_in_group
uint kymo_thread_in_group(void) {
  return ((uint)get_local_id(2) * (uint)get_local_size(1) + (uint)get_local_id(1)) * (uint)get_local_size(0) +
         (uint)get_local_id(0);
}

//# simd_matrix_memory
#define KYMO_MATRIX_MEMORY

//# end_of_loop
// PoCL executes a loop with barriers wrongly if threads take different ways to its end after the last of them. The
// compiler must not merge this barrier with one before the loop.
#ifdef POCL_DEVICE_ADDRESS_BITS
#define KYMO_END_OF_LOOP __attribute__((nomerge)) barrier(CLK_LOCAL_MEM_FENCE)
#else
#define KYMO_END_OF_LOOP
#endif

//# simd_memory: thread_in_group
// Simdgroups of 32 by way of group memory: every thread stores its value, and the first of a simdgroup combines them.
//
// PoCL compiles a kernel again for each group size, so its text must compile quickly:
// KYMO_APART      what one thread does alone is not inlined into the loops over all threads.
// KYMO_TOGETHER   a function that all threads execute together. PoCL inlines the loops over all threads into three
//                 functions, and uses one of them. It inlines no function that calls one with "returns_twice" (as
//                 setjmp has), except into functions that have this attribute too: all of ours, but not those of PoCL.
#ifdef POCL_DEVICE_ADDRESS_BITS
#define KYMO_APART __attribute__((noinline, returns_twice))
#define KYMO_TOGETHER __attribute__((returns_twice))
#else
#define KYMO_APART
#define KYMO_TOGETHER
#endif
typedef struct {
  union {
    uint uints[1024];
    ulong ulongs[1024];
  } values;
  union {
    uint uints[32];
    ulong ulongs[32];
  } results;
  uchar active[1024];
  int any;
#if defined(KYMO_MATRIX_MEMORY) && defined(POCL_DEVICE_ADDRESS_BITS)
  ulong right[1024], sum[1024];
#endif
} kymo_simd_memory;
uint kymo_threads_of_group(void) {
  return (uint)get_local_size(0) * (uint)get_local_size(1) * (uint)get_local_size(2);
}

//# simd_operators
#define KYMO_SUM(a, b) ((a) + (b))
#define KYMO_PRODUCT(a, b) ((a) * (b))
#define KYMO_AND(a, b) ((a) & (b))
#define KYMO_OR(a, b) ((a) | (b))
#define KYMO_XOR(a, b) ((a) ^ (b))

//# simd_reduce NAME TYPE WORD COMBINED START: simd_memory, simd_operators
// Threads that do not take part, or do not exist, have START, which changes no other value.
KYMO_APART void kymo_simd_combine_NAME_TYPE(__local kymo_simd_memory* simd, uint first, uint threads) {
  __local WORD* values = simd->values.WORDs + first;
  if (threads - first < 32)
    for (uint i = 0; i < 32; ++i)
      if (first + i >= threads) values[i] = as_WORD(START);
  const TYPE16 a = as_TYPE16(vload16(0, values)), b = as_TYPE16(vload16(1, values));
  const TYPE16 of16 = COMBINED(a, b);
  const TYPE8 of8 = COMBINED(of16.lo, of16.hi);
  const TYPE4 of4 = COMBINED(of8.lo, of8.hi);
  const TYPE2 of2 = COMBINED(of4.lo, of4.hi);
  simd->results.WORDs[first / 32] = as_WORD(COMBINED(of2.lo, of2.hi));
}
KYMO_TOGETHER TYPE kymo_simd_NAME_TYPE(__local kymo_simd_memory* simd, TYPE value, bool active) {
  const uint me = kymo_thread_in_group(), first = me & ~31u;
  simd->values.WORDs[me] = as_WORD(active ? value : START);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me == first) kymo_simd_combine_NAME_TYPE(simd, first, kymo_threads_of_group());
  barrier(CLK_LOCAL_MEM_FENCE);
  return as_TYPE(simd->results.WORDs[first / 32]);
}

//# simd_lanes: simd_memory
// A bit for each thread that takes part. `count`: how many threads the simdgroup has.
KYMO_APART uint kymo_simd_lanes_of(__local kymo_simd_memory* simd, uint first, uint count) {
  uint lanes = 0;
  for (uint i = 0; i < 32; ++i)  // to `count` alone is a loop that PoCL 3.1 with LLVM 14 gets wrong
    if (i < count && simd->active[first + i]) lanes |= 1u << i;
  return lanes;
}
KYMO_TOGETHER uint kymo_simd_lanes(__local kymo_simd_memory* simd, uint first) {
  return kymo_simd_lanes_of(simd, first, min(32u, kymo_threads_of_group() - first));
}

//# simd_inclusive NAME TYPE WORD OPERATOR START: simd_lanes
KYMO_APART void kymo_simd_scan_inclusive_NAME_TYPE(__local kymo_simd_memory* simd, uint first, uint lanes) {
  TYPE all = START;
  for (uint i = 0; i < 32; ++i) {
    if ((lanes >> i & 1u) == 0) continue;
    const TYPE one = as_TYPE(simd->values.WORDs[first + i]);
    all = (lanes & ((1u << i) - 1u)) == 0 ? one : all OPERATOR one;
    simd->values.WORDs[first + i] = as_WORD(all);
  }
}
KYMO_TOGETHER TYPE kymo_simd_inclusive_NAME_TYPE(__local kymo_simd_memory* simd, TYPE value, bool active) {
  const uint me = kymo_thread_in_group(), first = me & ~31u;
  simd->values.WORDs[me] = as_WORD(value);
  simd->active[me] = active;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me == first) kymo_simd_scan_inclusive_NAME_TYPE(simd, first, kymo_simd_lanes(simd, first));
  barrier(CLK_LOCAL_MEM_FENCE);
  return as_TYPE(simd->values.WORDs[me]);
}

//# simd_exclusive NAME TYPE WORD OPERATOR START: simd_lanes
KYMO_APART void kymo_simd_scan_exclusive_NAME_TYPE(__local kymo_simd_memory* simd, uint first, uint lanes) {
  TYPE all = START;
  for (uint i = 0; i < 32; ++i) {
    if ((lanes >> i & 1u) == 0) continue;
    const TYPE one = as_TYPE(simd->values.WORDs[first + i]);
    simd->values.WORDs[first + i] = as_WORD(all);
    all = (lanes & ((1u << i) - 1u)) == 0 ? one : all OPERATOR one;
  }
}
KYMO_TOGETHER TYPE kymo_simd_exclusive_NAME_TYPE(__local kymo_simd_memory* simd, TYPE value, bool active) {
  const uint me = kymo_thread_in_group(), first = me & ~31u;
  simd->values.WORDs[me] = as_WORD(value);
  simd->active[me] = active;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me == first) kymo_simd_scan_exclusive_NAME_TYPE(simd, first, kymo_simd_lanes(simd, first));
  barrier(CLK_LOCAL_MEM_FENCE);
  return as_TYPE(simd->values.WORDs[me]);
}

//# simd_shuffle TYPE WORD: simd_memory
KYMO_TOGETHER TYPE kymo_simd_shuffle_TYPE(__local kymo_simd_memory* simd, TYPE value, uint lane, bool active) {
  const uint me = kymo_thread_in_group(), first = me & ~31u;
  simd->values.WORDs[me] = as_WORD(value);
  simd->active[me] = active;
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool is_there = lane < 32 && first + lane < kymo_threads_of_group() && simd->active[first + lane];
  const TYPE given = is_there ? as_TYPE(simd->values.WORDs[first + lane]) : value;
  barrier(CLK_LOCAL_MEM_FENCE);
  return given;
}

//# simd_ballot: simd_reduce or uint uint KYMO_OR 0
KYMO_TOGETHER uint kymo_simd_ballot(__local kymo_simd_memory* simd, bool value, bool active) {
  return kymo_simd_or_uint(simd, value ? 1u << (kymo_thread_in_group() & 31u) : 0u, active);
}

//# simd_matrix: simd_memory
// Lanes hold matrices in the order of Apple's devices: a row is in lanes l, l + 1, l + 8 and l + 9.
uint kymo_matrix_row(uint row) { return (row & 4u) << 2 | (row & 3u) << 1; }
#ifdef POCL_DEVICE_ADDRESS_BITS
float8 kymo_matrix_load(__local const ulong* matrix, uint row) {
  __local const ulong* at = matrix + kymo_matrix_row(row);
  return (float8)(as_float4(vload2(0, at)), as_float4(vload2(4, at)));
}
KYMO_APART void kymo_simd_multiply(__local const ulong* left, __local const ulong* right, __local ulong* sum) {
  float8 rows[8];
  for (uint i = 0; i < 8; ++i) rows[i] = kymo_matrix_load(right, i);
  for (uint i = 0; i < 8; ++i) {
    const float8 l = kymo_matrix_load(left, i);
    float8 s = kymo_matrix_load(sum, i);
    s = fma((float8)l.s0, rows[0], s);
    s = fma((float8)l.s1, rows[1], s);
    s = fma((float8)l.s2, rows[2], s);
    s = fma((float8)l.s3, rows[3], s);
    s = fma((float8)l.s4, rows[4], s);
    s = fma((float8)l.s5, rows[5], s);
    s = fma((float8)l.s6, rows[6], s);
    s = fma((float8)l.s7, rows[7], s);
    vstore2(as_ulong2(s.lo), 0, sum + kymo_matrix_row(i));
    vstore2(as_ulong2(s.hi), 4, sum + kymo_matrix_row(i));
  }
}
KYMO_TOGETHER float2 kymo_simd_matrix(__local kymo_simd_memory* simd, float2 a, float2 b, float2 sum, bool active) {
  const uint me = kymo_thread_in_group(), first = me & ~31u;
  simd->values.ulongs[me] = as_ulong(a);
  simd->right[me] = as_ulong(b);
  simd->sum[me] = as_ulong(sum);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me == first && active)
    kymo_simd_multiply(simd->values.ulongs + first, simd->right + first, simd->sum + first);
  barrier(CLK_LOCAL_MEM_FENCE);
  return as_float2(simd->sum[me]);
}
#else
float2 kymo_simd_matrix(__local kymo_simd_memory* simd, float2 a, float2 b, float2 sum, bool active) {
  const uint me = kymo_thread_in_group(), lane = me & 31u;
  __local ulong* values = simd->values.ulongs + (me & ~31u);
  float2 row[4];
  values[lane] = as_ulong(a);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < 4; ++k) row[k] = as_float2(values[(lane & ~9u) | (k & 2u) << 2 | (k & 1u)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  values[lane] = as_ulong(b);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < 4; ++k) {
    sum = fma((float2)row[k].x, as_float2(values[(lane & 9u) | kymo_matrix_row(2 * k)]), sum);
    sum = fma((float2)row[k].y, as_float2(values[(lane & 9u) | kymo_matrix_row(2 * k + 1)]), sum);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}
#endif

//# group_any: simd_memory
KYMO_TOGETHER bool kymo_group_any(__local kymo_simd_memory* simd, bool value) {
  simd->any = 0;  // by all threads: PoCL loses a store of one thread here if this is in a loop in a loop
  barrier(CLK_LOCAL_MEM_FENCE);
  if (value) simd->any = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool any_has = simd->any != 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  return any_has;
}
