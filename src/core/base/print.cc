#include "base/print.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace kymo::base {

void print(std::string_view text) {
  size_t written = 0;
  const int failure = write_all(STDOUT_FILENO, as_bytes(text), written);
  if (failure == 0 || failure == EPIPE) return;
  throw Error(format("cannot write to standard output: {}", std::strerror(failure)));
}

}  // namespace kymo::base
