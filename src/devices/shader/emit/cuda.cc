#include "shader/embedded.h"
#include "shader/emit/c_cuda.h"
#include "shader/emit/c_emitter.h"

namespace kymo::shader {
namespace {

const Words& cuda_words() {
  static const Words words = words_of(
      // C++
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
      "compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype "
      "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
      "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
      "register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch "
      "template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
      "volatile wchar_t while xor xor_eq main std size_t ptrdiff_t restrict override final NULL INFINITY NAN linux "
      "unix "
      // CUDA
      "threadIdx blockIdx blockDim gridDim warpSize dim3 schar uchar ushort uint ulong char1 char2 char3 char4 "
      "uchar1 uchar2 uchar3 uchar4 short1 short2 short3 short4 ushort1 ushort2 ushort3 ushort4 int1 int2 int3 int4 "
      "uint1 uint2 uint3 uint4 long1 long2 long3 long4 ulong1 ulong2 ulong3 ulong4 longlong1 longlong2 longlong3 "
      "longlong4 ulonglong1 ulonglong2 ulonglong3 ulonglong4 float1 float2 float3 float4 double1 double2 double3 "
      "double4 half half2 cudaStream_t cudaError_t cuda nv cooperative_groups CUDART_VERSION INT_MAX INT_MIN "
      "UINT_MAX FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN LONG_MAX LONG_MIN ULONG_MAX CHAR_BIT CHAR_MAX CHAR_MIN "
      "SCHAR_MAX SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX M_PI M_E "
      // Names that generated text calls
      "fabsf floorf ceilf truncf rintf sqrtf expf exp2f exp10f logf log2f log10f sinf cosf tanf asinf acosf atanf "
      "sinhf coshf tanhf asinhf acoshf atanhf fminf fmaxf fmodf powf atan2f copysignf fmaf memcpy atomicAdd "
      "atomicSub atomicExch atomicCAS atomicAnd atomicOr atomicXor atomicMin atomicMax ");
  return words;
}

// Functions that are there without being declared and that generated text does not call.
const Words& cuda_functions() {
  static const Words words = words_of(
      // Of converters between forms
      "from to i "
      "abs labs llabs fabs acos acosh asin asinh atan atan2 atanh cbrt cbrtf ceil copysign cos cosh cospi cospif "
      "cyl_bessel_i0 cyl_bessel_i0f cyl_bessel_i1 cyl_bessel_i1f erf erfc erfcf erfcinv erfcinvf erfcx erfcxf erff "
      "erfinv erfinvf exp exp10 exp2 expm1 expm1f fdim fdimf fdivide fdividef floor fma fmax fmin fmod frexp frexpf "
      "hypot hypotf ilogb ilogbf isfinite isinf isnan isnormal j0 j0f j1 j1f jn jnf ldexp ldexpf lgamma lgammaf "
      "llrint llrintf llround llroundf log log10 log1p log1pf log2 logb logbf lrint lrintf lround lroundf max min "
      "modf modff nan nanf nearbyint nearbyintf nextafter nextafterf norm norm3d norm3df norm4d norm4df normcdf "
      "normcdff normcdfinv normcdfinvf normf pow rcbrt rcbrtf remainder remainderf remquo remquof rhypot rhypotf "
      "rint rnorm rnorm3d rnorm3df rnorm4d rnorm4df rnormf round roundf rsqrt rsqrtf scalbln scalblnf scalbn "
      "scalbnf signbit sin sincos sincosf sincospi sincospif sinh sinpi sinpif sqrt tan tanh tgamma tgammaf trunc "
      "y0 y0f y1 y1f yn ynf umin umax llmin llmax ullmin ullmax mulhi umulhi mul24 umul24 float_as_int int_as_float "
      "saturate memset memmove memcmp malloc free printf vprintf assert clock clock64 abort exit atomicInc "
      "atomicDec make_float2 make_float3 make_float4 make_int2 make_int3 make_int4 make_uint2 make_uint3 make_uint4 "
      "strcpy strlen strcmp ");
  return words;
}

const CPieces& cuda_pieces() {
  static const CPieces pieces = [] {
    CPieces all = read_pieces(embedded::prelude_cuda_cu);
    all.merge(read_pieces(embedded::prelude_cuda_threads_cu));
    return all;
  }();
  return pieces;
}

}  // namespace

CudaDialect::CudaDialect() : CDialect(cuda_pieces()) { prelude.use("types"); }

Reserved CudaDialect::reserved() const { return {cuda_words(), cuda_functions()}; }

Emitted emit_cuda(const ir::Module& module) {
  CudaDialect dialect;
  return emit_c(module, dialect);
}

}  // namespace kymo::shader
