// What an operator of libtorch was given, in the form of kymo/edge_engine.h.
#pragma once

#include <ATen/core/ivalue.h>

#include "kymo/edge_engine.h"

namespace kymo::edge {

// Throws nothing: what cannot be looked at (a nested tensor's sizes, symbolic ones) is put as `other`.
void put_inputs(c10::ArrayRef<const c10::IValue> values, Inputs& inputs) noexcept;

}  // namespace kymo::edge
