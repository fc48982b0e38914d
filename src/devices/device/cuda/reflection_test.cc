#include "device/cuda/reflection.h"

#include <gtest/gtest.h>

namespace kymo::device::cuda {
namespace {

PtxProgram ptx(const std::string& entries) {
  return prepare_ptx(".version 8.0\n.target sm_90\n.address_size 64\n" + entries);
}

TEST(ReflectionTest, ExternCKernelGetsTypesAndNamesFromTheSource) {
  const auto kernels =
      reflect(ptx(".entry f(.param .u64 a, .param .u32 b, .param .u64 c, .param .align 2 .b8 d[2],"
                  " .param .align 16 .b8 e[16]) { ret; }"),
              "extern \"C\" __global__ void f(const __half* x, unsigned n, size_t k, half h, float4 v) {}");
  ASSERT_EQ(kernels.size(), 1u);
  const auto& p = kernels[0].parameters;
  ASSERT_EQ(p.size(), 5u);
  EXPECT_EQ(p[0].kind, ParameterKind::Buffer);
  EXPECT_EQ(p[0].type, DType::F16);
  EXPECT_EQ(p[0].name, "x");
  EXPECT_EQ(p[1].kind, ParameterKind::Value);
  EXPECT_EQ(p[1].type, DType::U32);
  EXPECT_EQ(p[2].kind, ParameterKind::Value) << "as long as a pointer, but none";
  EXPECT_EQ(p[2].type, DType::U64);
  EXPECT_EQ(p[3].type, DType::F16);
  EXPECT_EQ(p[4].type, DType::F32);
  EXPECT_EQ(p[4].count, 4u);
  EXPECT_EQ(p[4].bytes, 16u);
}

TEST(ReflectionTest, PtxHasPriorityIfTheSourceDisagrees) {
  const PtxProgram program = ptx(".entry f(.param .u64 a, .param .f32 b) { ret; }");
  const auto more = reflect(program, "__global__ void f(float* a, float b, float c) {}");
  EXPECT_EQ(more[0].parameters.size(), 2u);
  EXPECT_EQ(more[0].parameters[0].name, "");
  EXPECT_EQ(more[0].parameters[0].kind, ParameterKind::Word) << "8 bytes, and nothing says whether they are an address";
  EXPECT_EQ(more[0].parameters[1].type, DType::F32);
  const auto wider = reflect(ptx(".entry f(.param .align 8 .b8 a[24]) { ret; }"), "__global__ void f(float4 a) {}");
  EXPECT_EQ(wider[0].parameters[0].kind, ParameterKind::Unknown);
  EXPECT_EQ(wider[0].parameters[0].bytes, 24u);
  EXPECT_EQ(wider[0].parameters[0].name, "a");
}

TEST(ReflectionTest, ParametersWithoutAMarkAreNotPointersIfOthersAreMarked) {
  const auto marked = reflect(ptx(".entry f(.param .u64 .ptr .align 1 a, .param .u64 b) { ret; }"), "");
  EXPECT_EQ(marked[0].parameters[0].kind, ParameterKind::Buffer);
  EXPECT_EQ(marked[0].parameters[1].kind, ParameterKind::Value);
  EXPECT_EQ(marked[0].parameters[1].type, DType::U64);
}

TEST(ReflectionTest, UndeclaredIntegersAreSignedAndHandwrittenPtxIsTakenAsWritten) {
  const PtxProgram program = ptx(".entry f(.param .u32 a, .param .s16 b) { ret; }");
  EXPECT_EQ(reflect(program, "MACRO(f)")[0].parameters[0].type, DType::I32);
  EXPECT_EQ(reflect(program, "")[0].parameters[0].type, DType::U32);
  EXPECT_EQ(reflect(program, "")[0].parameters[1].type, DType::I16);
}

TEST(ReflectionTest, MangledKernelsHavePlainNamesAndOverloadsShowTheirTypes) {
  const auto kernels = reflect(ptx(".entry _Z4overPf(.param .u64 a) { ret; } .entry _Z4overPi(.param .u64 a) { ret; }"
                                   ".entry _ZN4math5scaleIdEEvPT_S1_(.param .u64 a, .param .f64 b) { ret; }"),
                               "namespace math { template <class T> __global__ void scale(T* data, T by) {} }\n"
                               "template __global__ void math::scale<double>(double*, double);");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "over(float*)");
  EXPECT_EQ(kernels[1].name, "over(int*)");
  EXPECT_EQ(kernels[1].parameters[0].type, DType::I32);
  EXPECT_EQ(kernels[2].name, "math::scale<double>");
  EXPECT_EQ(kernels[2].parameters[0].name, "data");
  EXPECT_EQ(kernels[2].parameters[1].type, DType::F64);
}

TEST(ReflectionTest, EnumerationOfEightBytesIsNotAPointer) {
  const auto kernels = reflect(ptx(".entry _Z1f4Mode(.param .u64 a) { ret; }"), "");
  EXPECT_EQ(kernels[0].parameters[0].kind, ParameterKind::Value);
}

TEST(ReflectionTest, DynamicSharedMemoryIsTheLastParameter) {
  const auto kernels = reflect(
      ptx(".extern .shared .align 16 .b8 s[]; .entry f(.param .u32 a) .reqntid 64 { mov.u64 %r, s; ret; }"), "");
  ASSERT_EQ(kernels[0].parameters.size(), 2u);
  EXPECT_EQ(kernels[0].parameters[1].kind, ParameterKind::Local);
  EXPECT_EQ(kernels[0].required_group, (Extent{64, 1, 1}));
}

struct Expected {
  const char* text;
  bool pointer;
  std::optional<DType> element;
  uint32_t count = 1;
};

TEST(TypeNamesTest, ScalarsVectorsAndPointers) {
  const Expected kExpected[] = {
      {"float", false, DType::F32},
      {"unsigned", false, DType::U32},
      {"unsigned long long int", false, DType::U64},
      {"long unsigned int", false, DType::U64},
      {"signed char", false, DType::I8},
      {"char", false, DType::I8},
      {"const unsigned char", false, DType::U8},
      {"bool", false, DType::Bool},
      {"short int", false, DType::I16},
      {"std::size_t", false, DType::U64},
      {"cuda::std::uint8_t", false, DType::U8},
      {"__half", false, DType::F16},
      {"__nv_bfloat16", false, DType::BF16},
      {"__half2", false, DType::F16, 2},
      {"float4", false, DType::F32, 4},
      {"uchar3", false, DType::U8, 3},
      {"ulonglong2", false, DType::U64, 2},
      {"double4_16a", false, DType::F64, 4},
      {"float const*", true, DType::F32},
      {"const float* __restrict__", true, DType::F32},
      {"const __grid_constant__ int", false, DType::I32},
      {"float4*", true, DType::F32},
      {"void*", true, std::nullopt},
      {"float**", true, std::nullopt},
      {"Particle", false, std::nullopt},
      {"Particle*", true, std::nullopt},
      {"mine::float4", false, std::nullopt},
      {"vector<float>", false, std::nullopt},
      {"void (*)(int)", false, std::nullopt},
      {"float5", false, std::nullopt},
      {"", false, std::nullopt},
  };
  for (const Expected& expected : kExpected) {
    const NamedType type = type_named(expected.text, {});
    EXPECT_EQ(type.pointer, expected.pointer) << expected.text;
    EXPECT_EQ(type.element, expected.element) << expected.text;
    EXPECT_EQ(type.count, expected.count) << expected.text;
  }
}

TEST(TypeNamesTest, AliasesAreFollowedAndCyclesEnd) {
  const Aliases aliases{{"real", "float"}, {"reals", "real *"}, {"a", "b"}, {"b", "a"}};
  EXPECT_EQ(type_named("real", aliases).element, DType::F32);
  EXPECT_TRUE(type_named("const reals", aliases).pointer);
  EXPECT_EQ(type_named("reals", aliases).element, DType::F32);
  EXPECT_FALSE(type_named("reals*", aliases).element);
  EXPECT_FALSE(type_named("a", aliases).element);
}

TEST(SignatureTest, MangledNamesContainTheTypes) {
  const auto plain = demangle_signature("_ZN2ns5innerEPfj1S4Mode");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name, "ns::inner");
  ASSERT_EQ(plain->parameters.size(), 4u);
  EXPECT_EQ(plain->parameters[0].type, "float*");
  EXPECT_EQ(plain->parameters[1].type, "unsigned int");
  const auto instance = demangle_signature("_Z4tmplIfLi3EEvPT_S0_");
  ASSERT_TRUE(instance);
  EXPECT_EQ(instance->name, "tmpl<float, 3>");
  EXPECT_EQ(instance->parameters.size(), 2u);
  const auto hidden = demangle_signature("_ZN12_GLOBAL__N_11fEv");
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->name, "(anonymous namespace)::f");
  EXPECT_TRUE(hidden->parameters.empty());
  EXPECT_FALSE(demangle_signature("saxpy"));
  EXPECT_FALSE(demangle_signature("_Znonsense"));
}

TEST(SignatureTest, UnqualifiedNameHasNoNamespacesOrArguments) {
  EXPECT_EQ(unqualified("math::scale<std::pair<a, b>, 4>"), "scale");
  EXPECT_EQ(unqualified("(anonymous namespace)::f"), "f");
  EXPECT_EQ(unqualified("saxpy"), "saxpy");
}

TEST(SignatureTest, KernelsAreFoundInTheSource) {
  const SourceScan scan = scan_source(R"cu(
#define REAL float  // of course
using index = unsigned long;
typedef const REAL* input;
// __global__ void commented(int a) {}
const char* text = "__global__ void quoted(int a)"; const char* raw = R"x(__global__ void raw(int))x";
extern "C" __global__ void __launch_bounds__(256, 2) saxpy(const float* __restrict__ x, /* out */ REAL *y, float a = 2.0f,
                                                          index n, int data[16], unsigned, Pair<int, float> pair) {}
template <class T> [[maybe_unused]] __global__ static void scale(T* data, T by) {}
template __global__ void scale<float>(float*, float);
extern "C" { __global__ void none(void); }
__global__ MACRO_THAT_IS_NOT_KNOWN;
)cu");
  ASSERT_EQ(scan.kernels.size(), 4u);
  const Signature& saxpy = scan.kernels[0];
  EXPECT_EQ(saxpy.name, "saxpy");
  ASSERT_EQ(saxpy.parameters.size(), 7u);
  EXPECT_EQ(saxpy.parameters[0].name, "x");
  EXPECT_EQ(saxpy.parameters[1].name, "y");
  EXPECT_EQ(type_named(saxpy.parameters[1].type, scan.aliases).element, DType::F32);
  EXPECT_EQ(saxpy.parameters[2].name, "a");
  EXPECT_EQ(type_named(saxpy.parameters[3].type, scan.aliases).element, DType::U64);
  EXPECT_EQ(saxpy.parameters[4].name, "data");
  EXPECT_TRUE(type_named(saxpy.parameters[4].type, scan.aliases).pointer);
  EXPECT_EQ(saxpy.parameters[5].name, "");
  EXPECT_EQ(saxpy.parameters[6].name, "pair");
  EXPECT_EQ(scan.kernels[1].name, "scale");
  EXPECT_EQ(scan.kernels[1].parameters[1].name, "by");
  EXPECT_EQ(scan.kernels[2].parameters[0].name, "");
  EXPECT_EQ(scan.kernels[3].name, "none");
  EXPECT_TRUE(scan.kernels[3].parameters.empty());
  EXPECT_TRUE(type_named("input", scan.aliases).pointer);
}

TEST(SignatureTest, IncompleteSourceIsHandled) {
  for (const char* text :
       {"__global__", "__global__ void", "__global__ void f(", "__global__ void f<", "/*", "\"", "R\"(", "#define",
        "#define A", "using", "typedef", "__global__ void f(int a[", "R\"abc", "'", "\\"})
    EXPECT_LE(scan_source(text).kernels.size(), 1u) << text;
}

}  // namespace
}  // namespace kymo::device::cuda
