
#include "base/text.h"
#include "kymo/edge_module.h"

namespace kymo::edge {

std::string unknown_handle(int64_t debug_handle) {
  return base::format("Debug info for handle(s): {}, was not found.", debug_handle);
}

std::string Module::module_hierarchy(int64_t, const std::string&) const { return kNoDebugInformation; }
std::string Module::call_stack(int64_t) const { return kNoDebugInformation; }
void Module::begin(Log&, Wanted) {}
void Module::end() noexcept {}

}  // namespace kymo::edge
