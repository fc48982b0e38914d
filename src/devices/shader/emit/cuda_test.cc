#include <gtest/gtest.h>

#include "kymo/translate.h"
#include "shader/emit/c_dialect.h"
#include "shader/emit/test_modules.h"

namespace kymo::shader {
namespace {

// What is written for a module, without the first line and the prelude.
std::string cuda_text(void (*make)(ir::Module&)) {
  ir::Module module;
  make(module);
  const std::unique_ptr<CDialect> dialect = cuda_dialect();
  std::string text = emit_c(module, *dialect).text;
  text.erase(0, dialect->opening().size());
  if (!dialect->prelude.text().empty()) text.erase(0, dialect->prelude.text().size() + 1);
  return text;
}

TEST(CudaDialectTest, AValueIsReadFromItsAddressOrItself) {
  EXPECT_EQ(cuda_text(test::saxpy), R"(
struct inline_float {
  ulong address;
  float value;
};

extern "C" __global__ void saxpy(float* x, inline_float a_in) {
  float a = a_in.address != 0 ? *(float*)a_in.address : a_in.value;
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i] * a + 1.5f;
}
)");
}

TEST(CudaDialectTest, VectorsAreReadAndWrittenByComponents) {
  EXPECT_EQ(cuda_text(test::vectors), R"(
extern "C" __global__ void vectors(kymo_float4* in, kymo_float4* out) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  kymo_float4 v = in[i];
  {
    kymo_float2 from = kymo_swizzle<0, 1>(v) + kymo_float2(1.0f);
    float* to = (float*)&v;
    to[2] = from.x;
    to[0] = from.y;
  }
  v[i] = v.at(i) * 10.0f;
  kymo_bool4 big = v > kymo_float4(2.0f);
  v = kymo_select(-v, v, big);
  out[i] = v;
  {
    kymo_float2 from = kymo_float2((float)kymo_any(big), floorf(v).w);
    float* to = (float*)&out[i];
    to[1] = from.x;
    to[3] = from.y;
  }
  out[i].x = (v / kymo_float4(3.0f)).x;
}
)");
}

TEST(CudaDialectTest, HalvesAreFloatsBetweenLoadAndStore) {
  EXPECT_EQ(cuda_text(test::halves), R"(
extern "C" __global__ void halves(ushort* h, kymo_ushort4* h4, ushort* bf, kymo_ushort3* bf3) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  h[i] = kymo_float_to_half(kymo_half_to_float(h[i]) + 0.1f);
  h4[i] = kymo_float_to_half(kymo_half_to_float(h4[i]) + kymo_float4(0.1f));
  bf[i] = kymo_float_to_bfloat(kymo_round_to_bfloat(kymo_bfloat_to_float(bf[i]) + 0.1f));
  bf3[i] = kymo_float_to_bfloat(kymo_round_to_bfloat(kymo_bfloat_to_float(bf3[i]) + kymo_float3(0.1f)));
  h4[i].y = kymo_float_to_half(kymo_half_to_float(h[i]));
}
)");
}

TEST(CudaDialectTest, AStructureHasAFormForMemoryAndOneForValues) {
  EXPECT_EQ(cuda_text(test::records), R"(
struct Record_memory;
struct short_3 {
  short v[3];
};
struct Record_memory {
  uchar flag;
  ushort weight;
  kymo_float3 position;
  ulong next;
  short_3 counts;
};
struct inline_Record {
  ulong address;
  Record_memory value;
};
struct Record {
  bool flag;
  float weight;
  kymo_float3 position;
  float* next;
  short_3 counts;
};
static __device__ Record load_Record(Record_memory from) {
  Record to;
  to.flag = from.flag != 0;
  to.weight = kymo_half_to_float(from.weight);
  to.position = from.position;
  to.next = (float*)from.next;
  to.counts = from.counts;
  return to;
}
static __device__ Record_memory store_Record(Record from) {
  Record_memory to;
  to.flag = from.flag;
  to.weight = kymo_float_to_half(from.weight);
  to.position = from.position;
  to.next = (ulong)from.next;
  to.counts = from.counts;
  return to;
}

extern "C" __global__ void records(Record_memory* all, inline_Record one_in) {
  Record one = one_in.address != 0 ? load_Record(*(Record_memory*)one_in.address) : load_Record(one_in.value);
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  Record r = load_Record(all[i]);
  r.flag = !r.flag;
  r.weight = one.weight;
  r.position.y = 7.0f;
  r.counts.v[i] = one.counts.v[2];
  r.next[i] = r.position.z;
  all[i] = store_Record(r);
  all[i].counts.v[0] = (short)5;
}
)");
}

TEST(CudaDialectTest, ArraysArePassedAndReturnedInStructures) {
  EXPECT_EQ(cuda_text(test::arrays), R"(
struct int_4 {
  int v[4];
};
struct int_4_2 {
  int_4 v[2];
};

static __device__ int_4 reverse(int_4 from) {
  int to[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    to[k] = from.v[3 - k];
  }
  return *(int_4*)to;
}

extern "C" __global__ void arrays(int_4* out) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  int a[4] = {1, 2, (int)i, 4};
  int_4 c = reverse(*(int_4*)a);
  int zeros[4] = {};
  int_4_2 rows = int_4_2{{*(int_4*)a, c}};
  zeros[1] = rows.v[1].v[i];
  out[i] = c;
  out[i].v[3] = zeros[1];
}
)");
}

TEST(CudaDialectTest, PointersKeepTheirSpaces) {
  EXPECT_EQ(cuda_text(test::pointers), R"(
static __device__ void bump(float* mine, float* from, float* shared) {
  *mine = *from + shared[1];
}

extern "C" __global__ void pointers(float* x, long* far) {
  __shared__ alignas(16) float group[8];
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  uint lane = threadIdx.x;
  group[lane] = x[i];
  __syncthreads();
  float sum = 0.0f;
  bump(&sum, x + i, group);
  float* p = x + i;
  far[i] = (long)(p - x);
  *p = sum;
}
)");
}

TEST(CudaDialectTest, AtomicsAreNativeOrLoops) {
  EXPECT_EQ(cuda_text(test::atomics), R"(
extern "C" __global__ void atomics(int* count, float* total) {
  __shared__ uint group;
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  uint lane = threadIdx.x;
  if (lane == 0u) {
    *(volatile uint*)&group = 0u;
  }
  __syncthreads();
  kymo_atomic_max(&group, lane);
  __syncthreads();
  uint most = *(volatile uint*)&group;
  kymo_atomic_add(count, (int)most);
  kymo_atomic_add(total, (float)i);
  kymo_atomic_min(total + 1, -(float)i);
  int seen = kymo_atomic_compare_exchange(count + 1, 7, 9);
  kymo_atomic_or(count + 2, seen);
}
)");
}

TEST(CudaDialectTest, ATiledProductIsPlainIndexing) {
  EXPECT_EQ(cuda_text(test::matrix), R"(
struct inline_uint {
  ulong address;
  uint value;
};

extern "C" __global__ void matrix(float* a, float* b, float* out, inline_uint n_in) {
  __shared__ alignas(16) float left[8][8];
  __shared__ alignas(16) float right[8][8];
  uint n = n_in.address != 0 ? *(uint*)n_in.address : n_in.value;
  kymo_uint2 at = kymo_swizzle<0, 1>(kymo_grid_position());
  kymo_uint2 lane = kymo_swizzle<0, 1>(kymo_group_position());
  float sum = 0.0f;
  for (uint start = 0u; start < n; start += 8u) {
    left[lane.y][lane.x] = a[at.y * n + (start + lane.x)];
    right[lane.y][lane.x] = b[(start + lane.y) * n + at.x];
    __syncthreads();
    for (uint k = 0u; k < 8u; ++k) {
      sum += left[lane.y][k] * right[k][lane.x];
    }
    __syncthreads();
  }
  out[at.y * n + at.x] = sum;
}
)");
}

TEST(CudaDialectTest, SimdgroupsUseThePrelude) {
  EXPECT_EQ(cuda_text(test::simdgroups), R"(
extern "C" __global__ void simdgroups(float* in, float* out, uint* words, long* wide, kymo_grid_type kymo_grid) {
  uint i = kymo_grid.offset[0] + blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  uint lane = kymo_thread_in_group() % 32u;
  out[i * 8u + 0u] = kymo_simd_sum(v, true);
  out[i * 8u + 1u] = kymo_simd_fmax(v, true);
  out[i * 8u + 2u] = kymo_simd_inclusive_sum(v, true);
  out[i * 8u + 3u] = kymo_simd_exclusive_product(v, true);
  out[i * 8u + 4u] = kymo_simd_shuffle(v, lane ^ 1u, true);
  out[i * 8u + 5u] = kymo_simd_sum(v, lane != 3u);
  words[i] = kymo_simd_ballot(v > 20.0f, true);
  wide[i] = kymo_simd_sum((long)i, true) + (long)(kymo_thread_in_group() / 32u);
}
)");
}

TEST(CudaDialectTest, LabelsFallThrough) {
  EXPECT_EQ(cuda_text(test::choices), R"(
extern "C" __global__ void choices(int* out) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  int which = (int)i % 6;
  int sum = 0;
  switch (which) {
    case 0:
    case 1: {
      ++sum;
      break;
    }
    case 2: {
      sum += 10;
    }
    case 3: {
      sum += 100;
      break;
    }
    case (-2147483647 - 1):
    default: {
      sum += 1000;
    }
  }
  out[i] = sum;
}
)");
}

TEST(CudaDialectTest, ConstantsOfTheProgramAreInMemoryForm) {
  EXPECT_EQ(cuda_text(test::constants), R"(
struct Pair_memory {
  kymo_ushort2 h;
  float edge;
  uchar on;
};
struct Pair {
  kymo_float2 h;
  float edge;
  bool on;
};
static __device__ Pair load_Pair(Pair_memory from) {
  Pair to;
  to.h = kymo_half_to_float(from.h);
  to.edge = from.edge;
  to.on = from.on != 0;
  return to;
}

static __device__ const schar text[4] = "Hi\042";
static __device__ const float table[2][2] = {{0.1f, 1e+30f}, {}};
static __device__ const Pair_memory both = {{0x3800, 0xc000}, -1.0f / 0.0f, 1};

extern "C" __global__ void constants(float* out) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  Pair copy = load_Pair(both);
  schar* letters = (schar*)text;
  out[0] = table[i][1];
  out[1] = (float)letters[1];
  out[2] = copy.h.y;
  out[3] = copy.edge;
  out[4] = kymo_half_to_float(both.h.x);
}
)");
}

TEST(CudaDialectTest, ConversionsAreExplicit) {
  EXPECT_EQ(cuda_text(test::conversions), R"(
struct packed_float3;
struct packed_float3 {
  float v[3];
};
static __device__ kymo_float3 unpacked_float3(packed_float3 from) { return kymo_float3(from.v[0], from.v[1], from.v[2]); }
static __device__ packed_float3 make_packed_float3(kymo_float3 from) {
  packed_float3 to;
  to.v[0] = from.x;
  to.v[1] = from.y;
  to.v[2] = from.z;
  return to;
}

extern "C" __global__ void conversions(packed_float3* packed, kymo_float3* out, kymo_uchar4* bytes, uint* words) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  kymo_float3 v = unpacked_float3(packed[i]);
  out[i] = v;
  packed[i] = make_packed_float3(v + v);
  packed[i].v[1] = -1.0f;
  kymo_uchar4 four = bytes[i] + kymo_uchar4((uchar)200);
  bytes[i] = four >> kymo_convert<uint>(kymo_uchar4((uchar)1, (uchar)2, (uchar)3, (uchar)4));
  words[i] = kymo_bitcast<uint>(kymo_float_to_half(kymo_float2(kymo_round_to_half(v.x), 1.0f))) ^ kymo_bitcast<uint>(four);
}
)");
}

TEST(CudaDialectTest, PositionsAreCorrectInPartialGroups) {
  EXPECT_EQ(cuda_text(test::positions), R"(
extern "C" __global__ void positions(kymo_uint4* out, uint scratch_offset, kymo_grid_type kymo_grid) {
  uint* scratch = (uint*)(kymo_group_memory + (scratch_offset & ~15u));
  kymo_uint3 at = kymo_grid_position(kymo_grid);
  kymo_uint3 size = kymo_grid_size(kymo_grid);
  uint lane = threadIdx.x;
  scratch[lane] = at.x;
  __syncthreads();
  uint i = at.y * size.x + at.x;
  out[i] = kymo_uint4(scratch[kymo_group_size(kymo_grid, 0, blockDim.x, blockIdx.x) - 1u], (kymo_grid.offset[1] / kymo_grid.group[1] + blockIdx.y) * kymo_group_count(kymo_grid.threads[0], kymo_grid.group[0]) + (kymo_grid.offset[0] / kymo_grid.group[0] + blockIdx.x), kymo_grid.group[0], kymo_group_size(kymo_grid, 1, blockDim.y, blockIdx.y));
}
)");
}

TEST(CudaDialectTest, LinesOfTheSourceAreStatedOnRequest) {
  const std::string source =
      "kernel void scale(device float* x, uint i [[thread_position_in_grid]]) {\n"
      "  for (int k = 0; k < 3; ++k)\n"
      "    x[i] = x[i] * 2;\n"
      "}\n";
  const Options options{.target = Target::Cuda, .file = "scale.metal", .lines = true};
  EXPECT_NE(translate(source, options).text.find("#line 3 \"scale.metal\"\n    x[i]"), std::string::npos)
      << translate(source, options).text;
  EXPECT_EQ(translate(source, {.target = Target::Cuda}).text.find("#line"), std::string::npos);
}

}  // namespace
}  // namespace kymo::shader
