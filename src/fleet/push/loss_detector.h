// Notices that a store has less than before.
//
// It compares how much there is of each thing: rows of a table, files. Something is lost when it has become less, and
// nothing becomes even less: what removes it has ended. Losses that others fill up at the same time are not seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kymo::push {

using Content = std::map<std::string, uint64_t>;  // by name; a name that is missing stands for 0

class LossDetector {
 public:
  // True once for each loss since the first call. The first call only remembers.
  bool look(const Content& now);

 private:
  Content most_, last_;
};

}  // namespace kymo::push
