// The hash for all stored data: XXH3, 64 bits. It detects damage, not forgery. About as fast as memory.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace kymo::base {

uint64_t hash(Bytes bytes);

}  // namespace kymo::base
