// What memory was for, in the eight kinds that memory timelines of training are drawn with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::memory {

// In the order in which exported rows hold them.
enum class Category : uint8_t {
  Parameter,
  OptimizerState,
  Input,
  Temporary,
  Activation,
  Gradient,
  AutogradDetail,
  Unknown,
};
inline constexpr size_t kCategories = 8;

using BytesByCategory = std::array<uint64_t, kCategories>;

std::string_view category_name(Category category);   // "PARAMETER" … "AUTOGRAD_DETAIL", "unknown"
std::string_view category_label(Category category);  // for people: "parameter" … "autograd detail", "unknown"

// By name, in letters of any size, with '_', '-' or ' ' between words; Unknown for any other text.
Category category_named(std::string_view name);

}  // namespace kymo::memory
