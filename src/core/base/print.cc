#include "base/print.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"

namespace kymo::base {

void print(std::string_view text) {
  size_t written = 0;
  const int failure = write_all(STDOUT_FILENO, as_bytes(text), written);
  if (failure == 0 || failure == EPIPE) return;
  throw Error(format("cannot write to standard output: {}", std::strerror(failure)));
}

void say_to_user(std::string_view what, std::string_view untrusted) {
  const std::string line = "kymo: " + std::string(what) + without_controls(untrusted) + "\n";
  size_t written = 0;
  write_all(STDERR_FILENO, as_bytes(line), written);
}

}  // namespace kymo::base
