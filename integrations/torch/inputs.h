// The inputs of an operator of libtorch, in the form of kymo/edge_engine.h.
#pragma once

#include <ATen/core/ivalue.h>

#include "kymo/edge_engine.h"

namespace kymo::edge {

// Does not throw: an input that cannot be read (the sizes of a nested tensor, symbolic sizes) is written as `other`.
void put_inputs(c10::ArrayRef<const c10::IValue> values, Inputs& inputs) noexcept;

}  // namespace kymo::edge
