#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kymo::base {

uint64_t hash(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace kymo::base
