// Devices in the order of their numbers.
#pragma once

#include <tuple>

#include "kymo/edge_module.h"

namespace kymo::edge {

struct DeviceOrder {
  bool operator()(const DeviceId& one, const DeviceId& other) const {
    return std::tie(one.type, one.index) < std::tie(other.type, other.index);
  }
};

}  // namespace kymo::edge
