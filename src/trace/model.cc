#include "trace/model.h"

#include <fmt/format.h>

namespace kymo::trace {

std::string WriterId::hex() const { return fmt::format("{:02x}", fmt::join(bytes, "")); }

}  // namespace kymo::trace
