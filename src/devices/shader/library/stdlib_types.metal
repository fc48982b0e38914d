// What is always there: names of types, limits, traits. Hooks that begin with kymo_ and have no body are the
// translator's.

using int8_t = char;
using uint8_t = uchar;
using int16_t = short;
using uint16_t = ushort;
using int32_t = int;
using uint32_t = uint;
using int64_t = long;
using uint64_t = ulong;
using size_t = ulong;
using ptrdiff_t = long;
using intptr_t = long;
using uintptr_t = ulong;

namespace metal {

template <typename T, int N> struct vec;
template <typename T, int N> struct packed_vec;
template <typename T> struct atomic;
template <typename T> struct kymo_scalar_of;
template <typename T> struct kymo_remove_reference;
template <typename T> struct kymo_remove_const;
template <typename T> struct kymo_make_unsigned;
template <typename T> struct kymo_make_signed;
template <typename T, int N> struct kymo_make_vector;
template <typename T, typename U> constexpr bool kymo_is_same();
template <typename T> constexpr bool kymo_is_integral();
template <typename T> constexpr bool kymo_is_floating();
template <typename T> constexpr bool kymo_is_signed();
template <typename T> constexpr bool kymo_is_pointer();
template <typename T> constexpr bool kymo_is_vector();
template <typename T> constexpr uint kymo_vector_size();

namespace precise {
using namespace metal;
}
namespace fast {
using namespace metal;
}

// ---- Traits

template <typename T, T V>
struct integral_constant {
  static constexpr constant T value = V;
  using value_type = T;
  using type = integral_constant<T, V>;
  constexpr operator T() const { return V; }
  constexpr T operator()() const { return V; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;

template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { using type = T; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;

template <bool B, typename T, typename F> struct conditional { using type = T; };
template <typename T, typename F> struct conditional<false, T, F> { using type = F; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;

template <typename...> using void_t = void;

template <typename T> struct remove_reference { using type = kymo_remove_reference<T>; };
template <typename T> using remove_reference_t = kymo_remove_reference<T>;
template <typename T> struct remove_const { using type = kymo_remove_const<T>; };
template <typename T> using remove_const_t = kymo_remove_const<T>;
template <typename T> struct remove_cv { using type = kymo_remove_const<T>; };
template <typename T> using remove_cv_t = kymo_remove_const<T>;
template <typename T> struct remove_cvref { using type = kymo_remove_const<kymo_remove_reference<T>>; };
template <typename T> using remove_cvref_t = kymo_remove_const<kymo_remove_reference<T>>;
template <typename T> struct decay { using type = kymo_remove_const<kymo_remove_reference<T>>; };
template <typename T> using decay_t = kymo_remove_const<kymo_remove_reference<T>>;
template <typename T> struct make_unsigned { using type = kymo_make_unsigned<T>; };
template <typename T> using make_unsigned_t = kymo_make_unsigned<T>;
template <typename T> struct make_signed { using type = kymo_make_signed<T>; };
template <typename T> using make_signed_t = kymo_make_signed<T>;

template <typename T, typename U> struct is_same : integral_constant<bool, kymo_is_same<T, U>()> {};
template <typename T> struct is_void : integral_constant<bool, kymo_is_same<kymo_remove_const<T>, void>()> {};
template <typename T> struct is_integral : integral_constant<bool, kymo_is_integral<T>()> {};
template <typename T> struct is_floating_point : integral_constant<bool, kymo_is_floating<T>()> {};
template <typename T> struct is_arithmetic : integral_constant<bool, kymo_is_integral<T>() || kymo_is_floating<T>()> {};
template <typename T> struct is_scalar
    : integral_constant<bool, (is_arithmetic<T>::value && !kymo_is_vector<T>()) || kymo_is_pointer<T>()> {};
template <typename T> struct is_signed : integral_constant<bool, kymo_is_signed<T>()> {};
template <typename T> struct is_unsigned : integral_constant<bool, kymo_is_integral<T>() && !kymo_is_signed<T>()> {};
template <typename T> struct is_pointer : integral_constant<bool, kymo_is_pointer<T>()> {};
template <typename T> struct is_vector : integral_constant<bool, kymo_is_vector<T>()> {};
template <typename T> struct is_const : integral_constant<bool, !kymo_is_same<T, kymo_remove_const<T>>()> {};

template <typename T, typename U> constant constexpr bool is_same_v = kymo_is_same<T, U>();
template <typename T> constant constexpr bool is_void_v = kymo_is_same<kymo_remove_const<T>, void>();
template <typename T> constant constexpr bool is_integral_v = kymo_is_integral<T>();
template <typename T> constant constexpr bool is_floating_point_v = kymo_is_floating<T>();
template <typename T> constant constexpr bool is_arithmetic_v = kymo_is_integral<T>() || kymo_is_floating<T>();
template <typename T> constant constexpr bool is_scalar_v = is_scalar<T>::value;
template <typename T> constant constexpr bool is_signed_v = kymo_is_signed<T>();
template <typename T> constant constexpr bool is_unsigned_v = kymo_is_integral<T>() && !kymo_is_signed<T>();
template <typename T> constant constexpr bool is_pointer_v = kymo_is_pointer<T>();
template <typename T> constant constexpr bool is_vector_v = kymo_is_vector<T>();
template <typename T> constant constexpr bool is_const_v = is_const<T>::value;

template <typename T> struct make_scalar { using type = kymo_scalar_of<T>; };
template <typename T> using make_scalar_t = kymo_scalar_of<T>;
template <typename T> struct vec_elements : integral_constant<uint, kymo_vector_size<T>()> {};
template <typename T> constant constexpr uint vec_elements_v = kymo_vector_size<T>();

template <typename T> T declval();

// ---- Limits

// Sources specialise these names of Apple's library for their own types, and use their masks.
struct _numeric_limits_impl_base {
  static constexpr constant bool is_specialized = false;
};
// Of a vector or a struct nothing is known: all is zero.
template <typename T> struct _numeric_limits_impl : _numeric_limits_impl_base {
  static constexpr constant bool is_signed = false;
  static constexpr constant bool is_integer = false;
  static constexpr constant bool is_exact = false;
  static constexpr constant bool has_infinity = false;
  static constexpr constant bool has_quiet_NaN = false;
  static constexpr constant int digits = 0;
  static constexpr constant int radix = 0;
  static constexpr T min() { return T(); }
  static constexpr T lowest() { return T(); }
  static constexpr T max() { return T(); }
  static constexpr T epsilon() { return T(); }
  static constexpr T round_error() { return T(); }
  static constexpr T denorm_min() { return T(); }
  static constexpr T infinity() { return T(); }
  static constexpr T quiet_NaN() { return T(); }
};
template <typename T> struct numeric_limits : _numeric_limits_impl<T> {};

template <typename T, T Lowest, T Highest, int Digits>
struct kymo_integer_limits {
  static constexpr constant bool is_specialized = true;
  static constexpr constant bool is_signed = Lowest < T(0);
  static constexpr constant bool is_integer = true;
  static constexpr constant bool is_exact = true;
  static constexpr constant bool has_infinity = false;
  static constexpr constant bool has_quiet_NaN = false;
  static constexpr constant int digits = Digits;
  static constexpr constant int radix = 2;
  static constexpr T min() { return Lowest; }
  static constexpr T lowest() { return Lowest; }
  static constexpr T max() { return Highest; }
  static constexpr T epsilon() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
};
template <> struct _numeric_limits_impl<bool> : kymo_integer_limits<bool, false, true, 1> {};
template <> struct _numeric_limits_impl<char> : kymo_integer_limits<char, -128, 127, 7> {};
template <> struct _numeric_limits_impl<uchar> : kymo_integer_limits<uchar, 0, 255, 8> {};
template <> struct _numeric_limits_impl<short> : kymo_integer_limits<short, -32768, 32767, 15> {};
template <> struct _numeric_limits_impl<ushort> : kymo_integer_limits<ushort, 0, 65535, 16> {};
template <> struct _numeric_limits_impl<int> : kymo_integer_limits<int, -2147483647 - 1, 2147483647, 31> {};
template <> struct _numeric_limits_impl<uint> : kymo_integer_limits<uint, 0u, 4294967295u, 32> {};
template <>
struct _numeric_limits_impl<long> : kymo_integer_limits<long, -9223372036854775807l - 1l, 9223372036854775807l, 63> {};
template <> struct _numeric_limits_impl<ulong> : kymo_integer_limits<ulong, 0ul, 18446744073709551615ul, 64> {};

struct _fp_numeric_limits_impl_base {
  static constexpr constant bool is_specialized = true;
  static constexpr constant bool is_signed = true;
  static constexpr constant bool is_integer = false;
  static constexpr constant bool is_exact = false;
  static constexpr constant bool has_infinity = true;
  static constexpr constant bool has_quiet_NaN = true;
  static constexpr constant int radix = 2;
};
template <> struct _numeric_limits_impl<float> : _fp_numeric_limits_impl_base {
  static constexpr constant int digits = 24;
  static constexpr constant int max_exponent = 128;
  static constexpr constant int min_exponent = -125;
  static constexpr float min() { return 0x1p-126f; }
  static constexpr float max() { return 0x1.fffffep127f; }
  static constexpr float lowest() { return -0x1.fffffep127f; }
  static constexpr float epsilon() { return 0x1p-23f; }
  static constexpr float round_error() { return 0.5f; }
  static constexpr float denorm_min() { return 0x1p-149f; }
  static constexpr float infinity() { return as_type<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return as_type<float>(0x7fc00000u); }
  static constexpr float signaling_NaN() { return as_type<float>(0x7fa00000u); }
};
template <> struct _numeric_limits_impl<half> : _fp_numeric_limits_impl_base {
  static constexpr constant int digits = 11;
  static constexpr constant int max_exponent = 16;
  static constexpr constant int min_exponent = -13;
  static constexpr half min() { return half(0x1p-14f); }
  static constexpr half max() { return half(65504.0f); }
  static constexpr half lowest() { return half(-65504.0f); }
  static constexpr half epsilon() { return half(0x1p-10f); }
  static constexpr half round_error() { return half(0.5f); }
  static constexpr half denorm_min() { return half(0x1p-24f); }
  static constexpr half infinity() { return half(as_type<float>(0x7f800000u)); }
  static constexpr half quiet_NaN() { return half(as_type<float>(0x7fc00000u)); }
};
template <> struct _numeric_limits_impl<bfloat> : _fp_numeric_limits_impl_base {
  static constexpr constant int digits = 8;
  static constexpr constant int max_exponent = 128;
  static constexpr constant int min_exponent = -125;
  static constexpr bfloat min() { return bfloat(0x1p-126f); }
  static constexpr bfloat max() { return bfloat(0x1.fep127f); }
  static constexpr bfloat lowest() { return bfloat(-0x1.fep127f); }
  static constexpr bfloat epsilon() { return bfloat(0x1p-7f); }
  static constexpr bfloat round_error() { return bfloat(0.5f); }
  static constexpr bfloat infinity() { return bfloat(as_type<float>(0x7f800000u)); }
  static constexpr bfloat quiet_NaN() { return bfloat(as_type<float>(0x7fc00000u)); }
};

template <typename T> struct _fp_encoding_traits;
template <> struct _fp_encoding_traits<float> {
  using encoding_type = uint;
  static constexpr constant uint sign_mask = 0x80000000u;
  static constexpr constant uint inf_mask = 0x7f800000u;
};
template <> struct _fp_encoding_traits<half> {
  using encoding_type = ushort;
  static constexpr constant ushort sign_mask = 0x8000;
  static constexpr constant ushort inf_mask = 0x7c00;
};

// ---- Containers

template <typename T, size_t N>
struct array {
  T __v[N == 0 ? 1 : N];

  static constexpr size_t size() { return N; }
  static constexpr bool empty() { return N == 0; }
  thread T& operator[](size_t i) thread { return __v[i]; }
  const thread T& operator[](size_t i) const thread { return __v[i]; }
  device T& operator[](size_t i) device { return __v[i]; }
  const device T& operator[](size_t i) const device { return __v[i]; }
  threadgroup T& operator[](size_t i) threadgroup { return __v[i]; }
  const threadgroup T& operator[](size_t i) const threadgroup { return __v[i]; }
  const constant T& operator[](size_t i) const constant { return __v[i]; }
  thread T* data() thread { return __v; }
  const thread T* data() const thread { return __v; }
  device T* data() device { return __v; }
  const device T* data() const device { return __v; }
  threadgroup T* data() threadgroup { return __v; }
  const threadgroup T* data() const threadgroup { return __v; }
  const constant T* data() const constant { return __v; }
};

}  // namespace metal

// ---- Constants

constant constexpr float INFINITY = as_type<float>(0x7f800000u);
constant constexpr float NAN = as_type<float>(0x7fc00000u);
constant constexpr float HUGE_VALF = as_type<float>(0x7f800000u);
constant constexpr half HUGE_VALH = half(as_type<float>(0x7f800000u));
constant constexpr float MAXFLOAT = 0x1.fffffep127f;
constant constexpr half MAXHALF = half(65504.0f);
constant constexpr float FLT_MAX = 0x1.fffffep127f;
constant constexpr float FLT_MIN = 0x1p-126f;
constant constexpr float FLT_EPSILON = 0x1p-23f;
constant constexpr int FLT_DIG = 6;
constant constexpr int FLT_MANT_DIG = 24;
constant constexpr int FLT_MAX_EXP = 128;
constant constexpr int FLT_MIN_EXP = -125;
constant constexpr int FLT_MAX_10_EXP = 38;
constant constexpr int FLT_MIN_10_EXP = -37;
constant constexpr int FLT_RADIX = 2;
constant constexpr int FP_ILOGB0 = -2147483647 - 1;
constant constexpr int FP_ILOGBNAN = 2147483647;
constant constexpr int HALF_DIG = 2;
constant constexpr int HALF_MANT_DIG = 11;
constant constexpr int HALF_MAX_10_EXP = 4;
constant constexpr int HALF_MAX_EXP = 16;
constant constexpr int HALF_MIN_10_EXP = -4;
constant constexpr int HALF_MIN_EXP = -13;
constant constexpr int HALF_RADIX = 2;
constant constexpr half HALF_MAX = half(65504.0f);
constant constexpr half HALF_MIN = half(0x1p-14f);
constant constexpr half HALF_EPSILON = half(0x1p-10f);
constant constexpr int CHAR_BIT = 8;
constant constexpr char CHAR_MAX = 127;
constant constexpr char CHAR_MIN = -128;
constant constexpr char SCHAR_MAX = 127;
constant constexpr char SCHAR_MIN = -128;
constant constexpr uchar UCHAR_MAX = 255;
constant constexpr short SHRT_MAX = 32767;
constant constexpr short SHRT_MIN = -32768;
constant constexpr ushort USHRT_MAX = 65535;
constant constexpr int INT_MAX = 2147483647;
constant constexpr int INT_MIN = -2147483647 - 1;
constant constexpr uint UINT_MAX = 4294967295u;
constant constexpr long LONG_MAX = 9223372036854775807l;
constant constexpr long LONG_MIN = -9223372036854775807l - 1l;
constant constexpr ulong ULONG_MAX = 18446744073709551615ul;

constant constexpr float M_E_F = 2.71828182845904523536f;
constant constexpr float M_LOG2E_F = 1.44269504088896340736f;
constant constexpr float M_LOG10E_F = 0.434294481903251827651f;
constant constexpr float M_LN2_F = 0.693147180559945309417f;
constant constexpr float M_LN10_F = 2.30258509299404568402f;
constant constexpr float M_PI_F = 3.14159265358979323846f;
constant constexpr float M_PI_2_F = 1.57079632679489661923f;
constant constexpr float M_PI_4_F = 0.785398163397448309616f;
constant constexpr float M_1_PI_F = 0.318309886183790671538f;
constant constexpr float M_2_PI_F = 0.636619772367581343076f;
constant constexpr float M_2_SQRTPI_F = 1.12837916709551257390f;
constant constexpr float M_SQRT2_F = 1.41421356237309504880f;
constant constexpr float M_SQRT1_2_F = 0.707106781186547524401f;
constant constexpr half M_E_H = half(2.71828182845904523536f);
constant constexpr half M_LOG2E_H = half(1.44269504088896340736f);
constant constexpr half M_LOG10E_H = half(0.434294481903251827651f);
constant constexpr half M_LN2_H = half(0.693147180559945309417f);
constant constexpr half M_LN10_H = half(2.30258509299404568402f);
constant constexpr half M_PI_H = half(3.14159265358979323846f);
constant constexpr half M_PI_2_H = half(1.57079632679489661923f);
constant constexpr half M_PI_4_H = half(0.785398163397448309616f);
constant constexpr half M_1_PI_H = half(0.318309886183790671538f);
constant constexpr half M_2_PI_H = half(0.636619772367581343076f);
constant constexpr half M_2_SQRTPI_H = half(1.12837916709551257390f);
constant constexpr half M_SQRT2_H = half(1.41421356237309504880f);
constant constexpr half M_SQRT1_2_H = half(0.707106781186547524401f);
constant constexpr bfloat M_E_BF = bfloat(2.71828182845904523536f);
constant constexpr bfloat M_LOG2E_BF = bfloat(1.44269504088896340736f);
constant constexpr bfloat M_LOG10E_BF = bfloat(0.434294481903251827651f);
constant constexpr bfloat M_LN2_BF = bfloat(0.693147180559945309417f);
constant constexpr bfloat M_LN10_BF = bfloat(2.30258509299404568402f);
constant constexpr bfloat M_PI_BF = bfloat(3.14159265358979323846f);
constant constexpr bfloat M_PI_2_BF = bfloat(1.57079632679489661923f);
constant constexpr bfloat M_PI_4_BF = bfloat(0.785398163397448309616f);
constant constexpr bfloat M_1_PI_BF = bfloat(0.318309886183790671538f);
constant constexpr bfloat M_2_PI_BF = bfloat(0.636619772367581343076f);
constant constexpr bfloat M_2_SQRTPI_BF = bfloat(1.12837916709551257390f);
constant constexpr bfloat M_SQRT2_BF = bfloat(1.41421356237309504880f);
constant constexpr bfloat M_SQRT1_2_BF = bfloat(0.707106781186547524401f);
constant constexpr float M_PI = 3.14159265358979323846f;
constant constexpr float M_E = 2.71828182845904523536f;
constant constexpr float M_SQRT2 = 1.41421356237309504880f;
constant constexpr float M_LN2 = 0.693147180559945309417f;
