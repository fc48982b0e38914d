// The names of functions in files that readers of the trace will not find: the file was removed or replaced while the
// program ran, or it is at another path outside of a container. The sampler still has it open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sample/address_space.h"

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

// Of return addresses in a process, or what was one. Costs a look at each file, if all are there. Code that is in no
// file has the names that its compiler has written to /tmp/perf-PID.map, as node, Java and Python do on request.
std::vector<std::pair<uint64_t, std::string>> names_in_lost_files(AddressSpace& code, pid_t pid,
                                                                  const std::set<uint64_t>& addresses);

}  // namespace kymo::sample
