// The functions of the running kernel: /proc/kallsyms. Read when the first address is looked up, which takes some ten
// milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::sample {

class KernelNames {
 public:
  struct Function {
    uint64_t begin = 0;     // 0: the function is not known
    std::string_view name;  // as long as this object lives
  };
  Function at(uint64_t address);

  // The functions in a text with the form of that file, for at().
  void read(std::string text);

 private:
  bool is_read_ = false;
  std::string text_;
  std::vector<Function> functions_;  // sorted
};

}  // namespace kymo::sample
