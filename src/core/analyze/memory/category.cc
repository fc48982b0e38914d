#include "analyze/memory/category.h"

#include <algorithm>

namespace kymo::memory {

namespace {

constexpr std::string_view kCategoryNames[kCategories] = {
    "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", "unknown",
};

constexpr std::string_view kCategoryLabels[kCategories] = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown",
};

char plain_letter(char letter) {
  if (letter >= 'a' && letter <= 'z') return static_cast<char>(letter - 'a' + 'A');
  return letter == '-' || letter == ' ' ? '_' : letter;
}

}  // namespace

std::string_view category_name(Category category) {
  return kCategoryNames[std::min(static_cast<size_t>(category), kCategories - 1)];
}

std::string_view category_label(Category category) {
  return kCategoryLabels[std::min(static_cast<size_t>(category), kCategories - 1)];
}

Category category_named(std::string_view name) {
  for (size_t i = 0; i + 1 < kCategories; ++i)
    if (std::ranges::equal(name, kCategoryNames[i], {}, plain_letter)) return static_cast<Category>(i);
  return Category::Unknown;
}

}  // namespace kymo::memory
