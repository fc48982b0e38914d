#include "shader/embedded.h"
#include "shader/emit/c_emitter.h"
#include "shader/emit/c_opencl.h"

namespace kymo::shader {
namespace {

const Words& opencl_words() {
  static const Words words = words_of(
      // C
      "auto break case char const continue default do double else enum extern float for goto if inline int long "
      "register restrict return short signed sizeof static struct switch typedef typeof union unsigned void "
      "volatile while asm bool true false main complex imaginary offsetof NULL "
      // OpenCL C
      "global local constant private generic kernel read_only write_only read_write uniform pipe half quad uchar "
      "ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t image1d_t image2d_t image3d_t "
      "image1d_array_t image2d_array_t image1d_buffer_t queue_t ndrange_t clk_event_t reserve_id_t "
      "cl_mem_fence_flags CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE CLK_IMAGE_MEM_FENCE INFINITY NAN HUGE_VAL "
      "HUGE_VALF MAXFLOAT char2 char3 char4 char8 char16 uchar2 uchar3 uchar4 uchar8 uchar16 short2 short3 short4 "
      "short8 short16 ushort2 ushort3 ushort4 ushort8 ushort16 int2 int3 int4 int8 int16 uint2 uint3 uint4 uint8 "
      "uint16 long2 long3 long4 long8 long16 ulong2 ulong3 ulong4 ulong8 ulong16 float2 float3 float4 float8 "
      "float16 half2 half3 half4 half8 half16 double2 double3 double4 double8 double16 bool2 bool3 bool4 M_E_F "
      "M_LOG2E_F M_LOG10E_F M_LN2_F M_LN10_F M_PI_F M_PI_2_F M_PI_4_F M_1_PI_F M_2_PI_F M_2_SQRTPI_F M_SQRT2_F "
      "M_SQRT1_2_F M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 "
      "FLT_DIG FLT_MANT_DIG FLT_MAX_10_EXP FLT_MAX_EXP FLT_MIN_10_EXP FLT_MIN_EXP FLT_RADIX FLT_MAX FLT_MIN "
      "FLT_EPSILON HALF_MAX HALF_MIN HALF_EPSILON DBL_MAX DBL_MIN DBL_EPSILON CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX "
      "INT_MIN LONG_MAX LONG_MIN SCHAR_MAX SCHAR_MIN SHRT_MAX SHRT_MIN UCHAR_MAX USHRT_MAX UINT_MAX ULONG_MAX "
      "FP_ILOGB0 FP_ILOGBNAN FP_CONTRACT linux unix "
      // Names that generated text calls
      "fabs floor ceil trunc rint sqrt exp exp2 exp10 log log2 log10 sin cos tan asin acos atan sinh cosh tanh "
      "asinh acosh atanh fmin fmax fmod pow atan2 copysign fma isnan isinf min max popcount clz mul_hi any all "
      "select barrier mem_fence get_global_id get_local_id get_local_size as_float as_int as_uint vload_half "
      "vstore_half atomic_add atomic_sub atomic_xchg atomic_cmpxchg atomic_and atomic_or atomic_xor atomic_min "
      "atomic_max atom_add atom_sub atom_xchg atom_cmpxchg atom_and atom_or atom_xor atom_min atom_max ");
  return words;
}

// Built-in functions that generated text does not call: a variable may hide them, a function may not be called so.
const Words& opencl_functions() {
  static const Words words = words_of(
      // Of converters between forms
      "from to i "
      "abs abs_diff acospi add_sat asinpi async_work_group_copy async_work_group_strided_copy atan2pi atanpi "
      "atomic_dec atomic_inc bitselect cbrt clamp cospi cross ctz degrees distance divide dot erf erfc expm1 "
      "fast_distance fast_length fast_normalize fdim fract frexp get_global_linear_id get_global_offset "
      "get_global_size get_group_id get_enqueued_local_size get_local_linear_id get_num_groups get_work_dim hadd "
      "hypot ilogb isequal isfinite isgreater isgreaterequal isless islessequal islessgreater isnormal isnotequal "
      "isordered isunordered ldexp length lgamma lgamma_r log1p logb mad mad24 mad_hi mad_sat maxmag minmag mix "
      "modf mul24 nan native_cos native_divide native_exp native_exp2 native_exp10 native_log native_log2 "
      "native_log10 native_powr native_recip native_rsqrt native_sin native_sqrt native_tan half_cos half_divide "
      "half_exp half_exp2 half_exp10 half_log half_log2 half_log10 half_powr half_recip half_rsqrt half_sin "
      "half_sqrt half_tan nextafter normalize pown powr prefetch printf radians read_mem_fence remainder remquo "
      "rhadd rootn rotate round rsqrt shuffle shuffle2 sign signbit sincos sinpi smoothstep step sub_sat tanpi "
      "tgamma upsample vec_step vload2 vload3 vload4 vstore2 vstore3 vstore4 wait_group_events work_group_barrier "
      "write_mem_fence as_char as_uchar as_short as_ushort as_long as_ulong acosf acoshf asinf asinhf atanf atan2f "
      "atanhf cbrtf ceilf copysignf cosf coshf erff erfcf expf exp2f exp10f expm1f fabsf fdimf floorf fmaf fmaxf "
      "fminf fmodf frexpf hypotf ilogbf ldexpf lgammaf logf log10f log1pf log2f logbf modff nearbyint nearbyintf "
      "nextafterf powf remainderf rintf roundf sinf sinhf sqrtf tanf tanhf tgammaf truncf strlen puts memcmp memcpy "
      "memset memmove abort exit malloc free ");
  return words;
}

const CPieces& opencl_pieces() {
  static const CPieces pieces = read_pieces(embedded::prelude_opencl_cl);
  return pieces;
}

}  // namespace

OpenClDialect::OpenClDialect() : CDialect(opencl_pieces()) {}

Reserved OpenClDialect::reserved() const { return {opencl_words(), opencl_functions()}; }

Emitted emit_opencl(const ir::Module& module) {
  OpenClDialect dialect;
  return emit_c(module, dialect);
}

}  // namespace kymo::shader
