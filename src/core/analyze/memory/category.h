// What memory is used for: the eight categories of memory timelines of training.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::memory {

// In the order of exported rows.
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
std::string_view category_label(Category category);  // human-readable: "parameter" … "autograd detail", "unknown"

// Finds a category by its name. Case is ignored, and '_', '-' or ' ' may separate words. Unknown for any other text.
Category category_named(std::string_view name);

}  // namespace kymo::memory
