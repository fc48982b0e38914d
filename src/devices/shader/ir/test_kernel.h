// A kernel with a buffer and a number, and short names for what its tests write.
#pragma once

#include <gtest/gtest.h>

#include "shader/test_support/test_builder.h"

namespace kymo::shader::ir {

class KernelTest : public ::testing::Test {
 protected:
  using E = const Expression*;
  const Type* integer() { return b.type(TypeKind::Int); }
  E i(int64_t value) { return b.constant_int(value); }
  E lane() { return b.convert(integer(), b.intrinsic(Intrinsic::SimdLane)); }
  E less(E left, E right) { return b.binary(Operator::Less, left, right); }
  E at(const Variable& buffer, E place) { return b.element(b.variable(buffer), place); }
  E var(const Variable& variable) { return b.variable(variable); }

  Module module;
  TestBuilder b{module};
  Function& kernel = b.kernel("k");
  const Variable& out = b.binding(kernel, "out", BindingKind::Buffer, module.types.pointer(integer(), Space::Device));
  const Variable& n = b.binding(kernel, "n", BindingKind::Value, integer());
};

}  // namespace kymo::shader::ir
