#include "shader/sema/builtins.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace kymo::shader {

std::span<const BuiltinRow> builtin_rows() {
  using Kind = BuiltinKind;
  using I = ir::Intrinsic;
  // clang-format off
  static constexpr BuiltinRow kRows[] = {
      {"fabs", Kind::Float, 1, 1, I::Abs}, {"floor", Kind::Float, 1, 1, I::Floor}, {"ceil", Kind::Float, 1, 1, I::Ceil},
      {"trunc", Kind::Float, 1, 1, I::Trunc}, {"rint", Kind::Float, 1, 1, I::Rint},
      {"sqrt", Kind::Float, 1, 1, I::Sqrt},
      {"exp", Kind::FloatOrLibrary, 1, 1, I::Exp}, {"exp2", Kind::FloatOrLibrary, 1, 1, I::Exp2},
      {"exp10", Kind::FloatOrLibrary, 1, 1, I::Exp10}, {"log", Kind::FloatOrLibrary, 1, 1, I::Log},
      {"log2", Kind::FloatOrLibrary, 1, 1, I::Log2}, {"log10", Kind::FloatOrLibrary, 1, 1, I::Log10},
      {"sin", Kind::FloatOrLibrary, 1, 1, I::Sin}, {"cos", Kind::FloatOrLibrary, 1, 1, I::Cos},
      {"tan", Kind::FloatOrLibrary, 1, 1, I::Tan}, {"asin", Kind::FloatOrLibrary, 1, 1, I::Asin},
      {"acos", Kind::FloatOrLibrary, 1, 1, I::Acos}, {"atan", Kind::FloatOrLibrary, 1, 1, I::Atan},
      {"sinh", Kind::FloatOrLibrary, 1, 1, I::Sinh}, {"cosh", Kind::FloatOrLibrary, 1, 1, I::Cosh},
      {"tanh", Kind::FloatOrLibrary, 1, 1, I::Tanh}, {"asinh", Kind::FloatOrLibrary, 1, 1, I::Asinh},
      {"acosh", Kind::FloatOrLibrary, 1, 1, I::Acosh}, {"atanh", Kind::FloatOrLibrary, 1, 1, I::Atanh},
      {"fmod", Kind::FloatOrLibrary, 2, 2, I::Fmod}, {"pow", Kind::FloatOrLibrary, 2, 2, I::Pow},
      {"powr", Kind::FloatOrLibrary, 2, 2, I::Pow}, {"atan2", Kind::FloatOrLibrary, 2, 2, I::Atan2},
      {"fmin", Kind::Float, 2, 2, I::Fmin}, {"fmax", Kind::Float, 2, 2, I::Fmax},
      {"copysign", Kind::Float, 2, 2, I::Copysign}, {"fma", Kind::Float, 3, 3, I::Fma},
      {"isnan", Kind::FloatTest, 1, 1, I::IsNan}, {"isinf", Kind::FloatTest, 1, 1, I::IsInf},
      {"abs", Kind::Abs}, {"min", Kind::MinMax, 2, 2, I::Min}, {"max", Kind::MinMax, 2, 2, I::Max},
      {"popcount", Kind::Bits, 1, 1, I::PopCount}, {"clz", Kind::Bits, 1, 1, I::CountLeadingZeros},
      {"reverse_bits", Kind::Bits, 1, 1, I::ReverseBits}, {"mulhi", Kind::Bits, 2, 2, I::MulHi},
      {"any", Kind::Any, 1, 1, I::Any}, {"all", Kind::Any, 1, 1, I::All}, {"select", Kind::Select, 3, 3, I::Select},

      {"clamp", Kind::Library, 3, 3}, {"min3", Kind::Library, 3, 3}, {"max3", Kind::Library, 3, 3},
      {"median3", Kind::Library, 3, 3}, {"absdiff", Kind::Library, 2, 2}, {"addsat", Kind::Library, 2, 2},
      {"subsat", Kind::Library, 2, 2}, {"hadd", Kind::Library, 2, 2}, {"rhadd", Kind::Library, 2, 2},
      {"mul24", Kind::Library, 2, 2}, {"mad24", Kind::Library, 3, 3}, {"madhi", Kind::Library, 3, 3},
      {"madsat", Kind::Library, 3, 3}, {"ctz", Kind::Library}, {"rotate", Kind::Library, 2, 2},
      {"dot", Kind::Library, 2, 2}, {"cross", Kind::Library, 2, 2},
      {"mix", Kind::FloatLibrary, 3, 3}, {"saturate", Kind::FloatLibrary}, {"step", Kind::FloatLibrary, 2, 2},
      {"smoothstep", Kind::FloatLibrary, 3, 3}, {"sign", Kind::FloatLibrary}, {"fract", Kind::FloatLibrary},
      {"fdim", Kind::FloatLibrary, 2, 2}, {"fmin3", Kind::FloatLibrary, 3, 3}, {"fmax3", Kind::FloatLibrary, 3, 3},
      {"fmedian3", Kind::FloatLibrary, 3, 3}, {"divide", Kind::FloatLibrary, 2, 2}, {"length", Kind::FloatLibrary},
      {"length_squared", Kind::FloatLibrary}, {"distance", Kind::FloatLibrary, 2, 2},
      {"distance_squared", Kind::FloatLibrary, 2, 2}, {"normalize", Kind::FloatLibrary},
      {"reflect", Kind::FloatLibrary, 2, 2}, {"faceforward", Kind::FloatLibrary, 3, 3},
      {"rsqrt", Kind::Components}, {"round", Kind::Components}, {"sinpi", Kind::Components},
      {"cospi", Kind::Components}, {"tanpi", Kind::Components},
      {"ldexp", Kind::Components, 2, 2}, {"ilogb", Kind::Components}, {"nextafter", Kind::Components, 2, 2},

      {"atomic_load", Kind::Atomic, 1, 2, I::AtomicLoad}, {"atomic_store", Kind::Atomic, 2, 3, I::AtomicStore},
      {"atomic_exchange", Kind::Atomic, 2, 3, I::AtomicExchange},
      {"atomic_compare_exchange_weak", Kind::Atomic, 3, 5, I::AtomicCompareExchange},
      {"atomic_fetch_add", Kind::Atomic, 2, 3, I::AtomicAdd},
      {"atomic_fetch_sub", Kind::Atomic, 2, 3, I::AtomicSubtract},
      {"atomic_fetch_and", Kind::Atomic, 2, 3, I::AtomicAnd}, {"atomic_fetch_or", Kind::Atomic, 2, 3, I::AtomicOr},
      {"atomic_fetch_xor", Kind::Atomic, 2, 3, I::AtomicXor}, {"atomic_fetch_min", Kind::Atomic, 2, 3, I::AtomicMin},
      {"atomic_fetch_max", Kind::Atomic, 2, 3, I::AtomicMax},
      // Without a result, for atomic_ulong.
      {"atomic_min", Kind::Atomic, 2, 3, I::AtomicMin}, {"atomic_max", Kind::Atomic, 2, 3, I::AtomicMax},
      {"atomic_thread_fence", Kind::Barrier, 1, 3, I::Fence},
      {"threadgroup_barrier", Kind::Barrier, 1, 2, I::GroupBarrier},
      {"simdgroup_barrier", Kind::Barrier, 1, 2, I::SimdBarrier},

      {"simd_sum", Kind::Simd, 1, 1, I::SimdSum}, {"simd_product", Kind::Simd, 1, 1, I::SimdProduct},
      {"simd_min", Kind::Simd, 1, 1, I::SimdMin}, {"simd_max", Kind::Simd, 1, 1, I::SimdMax},
      {"simd_and", Kind::Simd, 1, 1, I::SimdAnd}, {"simd_or", Kind::Simd, 1, 1, I::SimdOr},
      {"simd_xor", Kind::Simd, 1, 1, I::SimdXor},
      {"simd_prefix_inclusive_sum", Kind::Simd, 1, 1, I::SimdInclusiveSum},
      {"simd_prefix_exclusive_sum", Kind::Simd, 1, 1, I::SimdExclusiveSum},
      {"simd_prefix_inclusive_product", Kind::Simd, 1, 1, I::SimdInclusiveProduct},
      {"simd_prefix_exclusive_product", Kind::Simd, 1, 1, I::SimdExclusiveProduct},
      {"kymo_shuffle", Kind::Simd, 2, 2, I::SimdShuffle},
      {"kymo_shuffle_of_all", Kind::Simd, 2, 2, I::SimdShuffle}, {"kymo_ballot", Kind::Lane, 1, 1, I::SimdBallot},
      {"kymo_lane", Kind::Lane, 0, 0, I::SimdLane},
      {"kymo_matrix_multiply", Kind::Matrix, 3, 3, I::SimdMatrix}, {"kymo_matrix_unit", Kind::MatrixUnit, 0, 0},

      {"kymo_is_same", Kind::Trait, 0, 0}, {"kymo_is_integral", Kind::Trait, 0, 0},
      {"kymo_is_floating", Kind::Trait, 0, 0}, {"kymo_is_signed", Kind::Trait, 0, 0},
      {"kymo_is_pointer", Kind::Trait, 0, 0}, {"kymo_is_vector", Kind::Trait, 0, 0},
      {"kymo_vector_size", Kind::Trait, 0, 0},
  };
  // clang-format on
  return kRows;
}

const BuiltinRow* builtin_row(std::string_view name) {
  static const std::unordered_map<std::string_view, const BuiltinRow*> kByName = [] {
    std::unordered_map<std::string_view, const BuiltinRow*> rows;
    for (const BuiltinRow& row : builtin_rows()) rows.emplace(row.name, &row);
    return rows;
  }();
  constexpr std::string_view kExplicit = "_explicit";
  if (name.starts_with("atomic_") && name.ends_with(kExplicit)) name.remove_suffix(kExplicit.size());
  constexpr std::string_view kLowLevel = "__metal_";
  if (name.starts_with(kLowLevel)) name.remove_prefix(kLowLevel.size());
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

bool is_builtin(std::string_view name) { return builtin_row(name) != nullptr; }

namespace {

struct TypeSpelling {
  TypeKind kind;
  uint32_t count = 1;
  bool packed = false;
  bool atomic = false;
};

// All names that Metal has for numbers, vectors of them, and atomics.
std::unordered_map<std::string_view, TypeSpelling> type_spellings() {
  static constexpr std::pair<std::string_view, TypeKind> kScalars[] = {
      {"bool", TypeKind::Bool},     {"char", TypeKind::Char}, {"uchar", TypeKind::UChar},   {"short", TypeKind::Short},
      {"ushort", TypeKind::UShort}, {"int", TypeKind::Int},   {"uint", TypeKind::UInt},     {"long", TypeKind::Long},
      {"ulong", TypeKind::ULong},   {"half", TypeKind::Half}, {"bfloat", TypeKind::BFloat}, {"float", TypeKind::Float}};
  static std::vector<std::string> texts;  // the keys; filled once
  texts.reserve(std::size(kScalars) * 7);
  std::unordered_map<std::string_view, TypeSpelling> known;
  for (const auto& [name, kind] : kScalars) {
    known[name] = {kind};
    for (uint32_t count = 2; count <= 4; ++count) {
      known[texts.emplace_back(base::format("{}{}", name, count))] = {kind, count};
      known[texts.emplace_back(base::format("packed_{}{}", name, count))] = {kind, count, true};
    }
  }
  known["void"] = {TypeKind::Void};
  known["size_t"] = {TypeKind::ULong};
  known["ptrdiff_t"] = {TypeKind::Long};
  known["atomic_int"] = {TypeKind::Int, 1, false, true};
  known["atomic_uint"] = {TypeKind::UInt, 1, false, true};
  known["atomic_bool"] = {TypeKind::Bool, 1, false, true};
  known["atomic_ulong"] = {TypeKind::ULong, 1, false, true};
  known["atomic_float"] = {TypeKind::Float, 1, false, true};
  return known;
}

}  // namespace

const Type* builtin_type(TypeTable& table, std::string_view name) {
  static const std::unordered_map<std::string_view, TypeSpelling> kKnown = type_spellings();
  const auto found = kKnown.find(name);
  if (found == kKnown.end()) return nullptr;
  const TypeSpelling& spelling = found->second;
  const Type* scalar = table.get(spelling.kind);
  if (spelling.atomic) return table.atomic(scalar);
  return spelling.count == 1 ? scalar : table.vector(scalar, spelling.count, spelling.packed);
}

}  // namespace kymo::shader
