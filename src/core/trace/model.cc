#include "trace/model.h"

#include <sys/random.h>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::trace {

std::string WriterId::hex() const { return base::hex(bytes); }

WriterId random_writer_id() {
  WriterId id;
  if (getrandom(id.bytes.data(), id.bytes.size(), 0) != static_cast<ssize_t>(id.bytes.size()))
    throw Error("cannot get random numbers from the system (getrandom)");
  return id;
}

}  // namespace kymo::trace
