// The functions that a program has compiled at run time: /tmp/perf-PID.map, which such programs write for perf.
//
//   7f3c4a000000 2c0 LazyCompile:*compute /app/main.js:7
//
// Begin and length are hexadecimal. A later line replaces an earlier one at the same address.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kymo::sample {

class CodeMap {
 public:
  // Reads only a regular file of the user who runs the process, at most 256 MiB. Otherwise nothing is known.
  static CodeMap of_process(pid_t pid);
  // The text of such a file, which is untrusted: lines that are not of this form are left out.
  explicit CodeMap(std::string_view text = {});

  std::string_view at(uint64_t address) const;  // empty: not known

 private:
  struct Function {
    uint64_t end = 0;
    std::string name;
  };
  std::map<uint64_t, Function> functions_;  // by their begin
};

}  // namespace kymo::sample
