#include "trace/model.h"

#include "base/text.h"

namespace kymo::trace {

std::string WriterId::hex() const { return base::hex(bytes); }

}  // namespace kymo::trace
