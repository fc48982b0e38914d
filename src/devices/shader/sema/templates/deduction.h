// The parameters of a template while their arguments are deduced.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shader/sema/entity.h"

namespace kymo::shader {

struct Deduction {
  explicit Deduction(const std::vector<ast::TemplateParameter>& list) : parameters(list), found(list.size()) {}

  const std::vector<ast::TemplateParameter>& parameters;
  std::vector<std::optional<TemplateArgument>> found;
  // The elements of a pack are matched one by one, each as if the pack were a separate parameter.
  bool in_pack = false;
  // If a parameter is deduced with two different results: its index, and the second result.
  size_t conflict = SIZE_MAX;
  TemplateArgument second;

  size_t index_of(std::string_view name) const {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == name && !name.empty()) return i;
    return SIZE_MAX;
  }
};

}  // namespace kymo::shader
