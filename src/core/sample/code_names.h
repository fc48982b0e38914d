// The names of the functions that have samples, for the trace: a program may be built again, removed or renamed before
// somebody reads it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sample/address_space.h"
#include "sample/outbox.h"

namespace kymo::sample {

// The functions that a program has compiled at run time: /tmp/perf-PID.map, which such programs write for perf.
//
//   7f3c4a000000 2c0 LazyCompile:*compute /app/main.js:7
//
// Begin and length are hexadecimal. A later line replaces an earlier one at the same address.
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

// The functions, files and lines of the addresses that have samples, with the inlined functions. At an offset, frames
// are in the order of symbols::Frame: innermost first. Files that readers will not find come first: they were removed
// or replaced while the program ran, are at another path outside of a container, or only in memory.
//
// Takes some ten microseconds for each address, and more for the first one in a file: 0.1 s to unpack the debug
// information of the C library. Begins no lookup after `until_ns` of the monotonic clock, and says how many addresses
// are left: readers look them up in the files as they are then.
struct NamesOfCode {
  std::vector<CodeNames> parts;  // of a size for one chunk of a trace
  uint64_t left = 0;
};
NamesOfCode names_of(const std::vector<SampledCode>& code, uint64_t until_ns);

}  // namespace kymo::sample
