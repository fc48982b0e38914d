#include <gtest/gtest.h>

#include "shader/emit/c_dialect.h"
#include "shader/emit/test_modules.h"

namespace kymo::shader {
namespace {

// What is written for a module, without the first line and the prelude.
std::string opencl_text(void (*make)(ir::Module&)) {
  ir::Module module;
  make(module);
  const std::unique_ptr<CDialect> dialect = opencl_dialect();
  std::string text = emit_c(module, *dialect).text;
  text.erase(0, dialect->opening().size());
  if (!dialect->prelude.text().empty()) text.erase(0, dialect->prelude.text().size() + 1);
  return text;
}

TEST(OpenClDialectTest, AValueIsReadFromItsAddressOrItself) {
  EXPECT_EQ(opencl_text(test::saxpy), R"(
typedef struct inline_float inline_float;
struct inline_float {
  ulong address;
  float value;
};

__kernel void saxpy(__global float* x, inline_float a_in) {
  float a = a_in.address != 0 ? *(__global float*)a_in.address : a_in.value;
  uint i = (uint)get_global_id(0);
  x[i] = x[i] * a + 1.5f;
}
)");
}

TEST(OpenClDialectTest, VectorsAreReadAndWrittenByComponents) {
  EXPECT_EQ(opencl_text(test::vectors), R"(
__kernel void vectors(__global float4* in, __global float4* out) {
  uint i = (uint)get_global_id(0);
  float4 v = in[i];
  v.zx = v.xy + (float2)(1.0f);
  ((float*)&v)[i] = kymo_component_float4(v, i) * 10.0f;
  uchar4 big = convert_uchar4(-(v > (float4)(2.0f)));
  v = select(-v, v, -convert_int4(big));
  out[i] = v;
  {
    float2 from = (float2)((float)(bool)any(big != (uchar)0), floor(v).w);
    __global float* to = (__global float*)&out[i];
    to[1] = from.x;
    to[3] = from.y;
  }
  ((__global float*)&out[i])[0] = (v / (float4)(3.0f)).x;
}
)");
}

TEST(OpenClDialectTest, HalvesAreFloatsBetweenLoadAndStore) {
  EXPECT_EQ(opencl_text(test::halves), R"(
__kernel void halves(__global ushort* h, __global ushort4* h4, __global ushort* bf, __global ushort3* bf3) {
  uint i = (uint)get_global_id(0);
  h[i] = kymo_float_to_half(kymo_half_to_float(h[i]) + 0.1f);
  h4[i] = kymo_float_to_half4(kymo_half_to_float4(h4[i]) + (float4)(0.1f));
  bf[i] = kymo_float_to_bfloat(kymo_round_to_bfloat(kymo_bfloat_to_float(bf[i]) + 0.1f));
  bf3[i] = kymo_float_to_bfloat3(kymo_round_to_bfloat3(kymo_bfloat_to_float3(bf3[i]) + (float3)(0.1f)));
  ((__global ushort*)&h4[i])[1] = kymo_float_to_half(kymo_half_to_float(h[i]));
}
)");
}

TEST(OpenClDialectTest, AStructureHasAFormForMemoryAndOneForValues) {
  EXPECT_EQ(opencl_text(test::records), R"(
typedef struct Record_memory Record_memory;
typedef struct short_3 short_3;
struct short_3 {
  short v[3];
};
struct Record_memory {
  uchar flag;
  ushort weight;
  float3 position;
  ulong next;
  short_3 counts;
};
typedef struct inline_Record inline_Record;
struct inline_Record {
  ulong address;
  Record_memory value;
};
typedef struct Record Record;
struct Record {
  bool flag;
  float weight;
  float3 position;
  __global float* next;
  short_3 counts;
};
Record load_Record(Record_memory from) {
  Record to;
  to.flag = from.flag != 0;
  to.weight = kymo_half_to_float(from.weight);
  to.position = from.position;
  to.next = (__global float*)from.next;
  to.counts = from.counts;
  return to;
}
Record_memory store_Record(Record from) {
  Record_memory to;
  to.flag = from.flag;
  to.weight = kymo_float_to_half(from.weight);
  to.position = from.position;
  to.next = (ulong)from.next;
  to.counts = from.counts;
  return to;
}

__kernel void records(__global Record_memory* all_, inline_Record one_in) {
  Record one = one_in.address != 0 ? load_Record(*(__global Record_memory*)one_in.address) : load_Record(one_in.value);
  uint i = (uint)get_global_id(0);
  Record r = load_Record(all_[i]);
  r.flag = !r.flag;
  r.weight = one.weight;
  r.position.y = 7.0f;
  r.counts.v[i] = one.counts.v[2];
  r.next[i] = r.position.z;
  all_[i] = store_Record(r);
  all_[i].counts.v[0] = (short)5;
}
)");
}

TEST(OpenClDialectTest, PointersKeepTheirSpaces) {
  EXPECT_EQ(opencl_text(test::pointers), R"(
void bump(float* mine, __global float* from, __local float* shared) {
  *mine = *from + shared[1];
}

__kernel void pointers(__global float* x, __global long* far) {
  __local float group[8];
  uint i = (uint)get_global_id(0);
  uint lane = (uint)get_local_id(0);
  group[lane] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  bump(&sum, x + i, group);
  __global float* p = x + i;
  far[i] = (long)(p - x);
  *p = sum;
}
)");
}

TEST(OpenClDialectTest, AtomicsAreNativeOrLoops) {
  EXPECT_EQ(opencl_text(test::atomics), R"(
__kernel void atomics(__global int* count, __global float* total) {
  __local uint group;
  uint i = (uint)get_global_id(0);
  uint lane = (uint)get_local_id(0);
  if (lane == 0u) {
    atomic_xchg(&group, 0u);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_max(&group, lane);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint most = *(volatile __local uint*)&group;
  atomic_add(count, (int)most);
  kymo_atomic_add_float_global(total, (float)i);
  kymo_atomic_min_float_global(total + 1, -(float)i);
  int seen = atomic_cmpxchg(count + 1, 7, 9);
  atomic_or(count + 2, seen);
}
)");
}

TEST(OpenClDialectTest, ATiledProductIsPlainIndexing) {
  EXPECT_EQ(opencl_text(test::matrix), R"(
typedef struct inline_uint inline_uint;
struct inline_uint {
  ulong address;
  uint value;
};

__kernel void matrix(__global float* a, __global float* b, __global float* out, inline_uint n_in) {
  __local float left[8][8];
  __local float right[8][8];
  uint n = n_in.address != 0 ? *(__global uint*)n_in.address : n_in.value;
  uint2 at = kymo_grid_position().xy;
  uint2 lane = kymo_group_position().xy;
  float sum = 0.0f;
  for (uint start = 0u; start < n; start += 8u) {
    left[lane.y][lane.x] = a[at.y * n + (start + lane.x)];
    right[lane.y][lane.x] = b[(start + lane.y) * n + at.x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0u; k < 8u; ++k) {
      sum += left[lane.y][k] * right[k][lane.x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[at.y * n + at.x] = sum;
}
)");
}

TEST(OpenClDialectTest, SimdgroupsUseThePrelude) {
  EXPECT_EQ(opencl_text(test::simdgroups), R"(
__kernel void simdgroups(__global float* in, __global float* out, __global uint* words, __global long* wide) {
  __local kymo_simd_memory kymo_simd;
  uint i = (uint)get_global_id(0);
  float v = in[i];
  uint lane = kymo_thread_in_group() % 32u;
  out[i * 8u + 0u] = kymo_simd_sum_float(&kymo_simd, v, true);
  out[i * 8u + 1u] = kymo_simd_max_float(&kymo_simd, v, true);
  out[i * 8u + 2u] = kymo_simd_inclusive_sum_float(&kymo_simd, v, true);
  out[i * 8u + 3u] = kymo_simd_exclusive_product_float(&kymo_simd, v, true);
  out[i * 8u + 4u] = kymo_simd_shuffle_float(&kymo_simd, v, lane ^ 1u, true);
  out[i * 8u + 5u] = kymo_simd_sum_float(&kymo_simd, v, lane != 3u);
  words[i] = kymo_simd_ballot(&kymo_simd, v > 20.0f, true);
  wide[i] = kymo_simd_sum_long(&kymo_simd, (long)i, true) + (long)(kymo_thread_in_group() / 32u);
}
)");
}

TEST(OpenClDialectTest, ContinueGoesToTheStep) {
  EXPECT_EQ(opencl_text(test::loops), R"(
__kernel void loops(__global int* out) {
  uint i = (uint)get_global_id(0);
  int sum = 0;
  int k = 0;
  int t;
  for (bool again = false;; again = true) {
    if (again) {
      if (k < 5) {
        ++k;
      } else {
        k = t + 2;
      }
    }
    t = k;
    if (!(t < 10)) break;
    if ((k & 1) == 1) {
      continue;
    }
    sum += k;
  }
  for (bool again = false;; again = true) {
    if (again) {
      int t_1 = k;
      if (!(3 < t_1)) break;
    }
    --k;
    if ((k & 1) == 1) {
      continue;
    }
    sum += 100;
  }
  do {
    ++k;
  } while (k < 6);
  while (true) {
    sum += 1000;
    if (4000 < sum) {
      break;
    }
  }
  out[i] = sum;
}
)");
}

TEST(OpenClDialectTest, ConstantsOfTheProgramAreInMemoryForm) {
  EXPECT_EQ(opencl_text(test::constants), R"(
typedef struct Pair_memory Pair_memory;
struct Pair_memory {
  ushort2 h;
  float edge;
  uchar on;
};
typedef struct Pair Pair;
struct Pair {
  float2 h;
  float edge;
  bool on;
};
Pair load_Pair(Pair_memory from) {
  Pair to;
  to.h = kymo_half_to_float2(from.h);
  to.edge = from.edge;
  to.on = from.on != 0;
  return to;
}

__constant char text[4] = "Hi\042";
__constant float table[2][2] = {{0.1f, 1e+30f}, {0}};
__constant Pair_memory both = {(ushort2)(0x3800, 0xc000), -1.0f / 0.0f, 1};

__kernel void constants(__global float* out) {
  uint i = (uint)get_global_id(0);
  Pair copy = load_Pair(both);
  __constant char* letters = text;
  out[0] = table[i][1];
  out[1] = (float)letters[1];
  out[2] = copy.h.y;
  out[3] = copy.edge;
  out[4] = kymo_half_to_float(both.h.x);
}
)");
}

TEST(OpenClDialectTest, ConversionsAreExplicit) {
  EXPECT_EQ(opencl_text(test::conversions), R"(
typedef struct packed_float3 packed_float3;
struct packed_float3 {
  float v[3];
};
float3 unpacked_float3(packed_float3 from) { return (float3)(from.v[0], from.v[1], from.v[2]); }
packed_float3 make_packed_float3(float3 from) {
  packed_float3 to;
  to.v[0] = from.x;
  to.v[1] = from.y;
  to.v[2] = from.z;
  return to;
}

__kernel void conversions(__global packed_float3* packed, __global float3* out, __global uchar4* bytes, __global uint* words) {
  uint i = (uint)get_global_id(0);
  float3 v = unpacked_float3(packed[i]);
  out[i] = v;
  packed[i] = make_packed_float3(v + v);
  packed[i].v[1] = -1.0f;
  uchar4 four = bytes[i] + (uchar4)((uchar)200);
  bytes[i] = four >> convert_uchar4(convert_uint4((uchar4)((uchar)1, (uchar)2, (uchar)3, (uchar)4)));
  words[i] = as_uint(kymo_float_to_half2((float2)(kymo_round_to_half(v.x), 1.0f))) ^ as_uint(four);
}
)");
}

TEST(OpenClDialectTest, PositionsAreCorrectInPartialGroups) {
  EXPECT_EQ(opencl_text(test::positions), R"(
__kernel void positions(__global uint4* out, __local uint* scratch, kymo_grid_type kymo_grid) {
  uint3 at = kymo_grid_position();
  uint3 size = kymo_grid_size(kymo_grid);
  uint lane = (uint)get_local_id(0);
  scratch[lane] = at.x;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint i = at.y * size.x + at.x;
  out[i] = (uint4)(scratch[(uint)get_local_size(0) - 1u], kymo_group_index_in(kymo_grid, 1) * kymo_group_count_in(kymo_grid, 0) + kymo_group_index_in(kymo_grid, 0), kymo_grid.group[0], (uint)get_local_size(1));
}
)");
}

TEST(OpenClDialectTest, NamesAreLegalAndUnique) {
  EXPECT_EQ(opencl_text(test::names), R"(
float ns_scale_float(float float_) {
  return float_ + float_;
}

int ns_scale_int(int float_) {
  return float_ + float_;
}

float clamp_(float step) {
  return step;
}

__kernel void my_kernel_float(__global float* global_) {
  uint i = (uint)get_global_id(0);
  {
    float i_1 = ns_scale_float(1.0f);
    global_[i] = clamp_(i_1 + (float)ns_scale_int(2));
  }
}
)");
}

}  // namespace
}  // namespace kymo::shader
