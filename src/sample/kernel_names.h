// The functions of the running kernel: /proc/kallsyms. Read when the first address is looked up.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kymo::sample {

class KernelNames {
 public:
  struct Function {
    uint64_t begin = 0;  // 0: the function is not known
    const std::string* name = nullptr;
  };
  Function at(uint64_t address);

 private:
  void read();

  bool is_read_ = false;
  std::vector<std::pair<uint64_t, std::string>> functions_;  // sorted
};

}  // namespace kymo::sample
