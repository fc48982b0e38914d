#include "sample/kernel_names.h"

#include <algorithm>
#include <fstream>

namespace kymo::sample {

void KernelNames::read() {
  is_read_ = true;
  std::ifstream file("/proc/kallsyms");
  for (std::string line; std::getline(file, line);) {
    // "ffffffff81000000 T _stext [module]". Without rights, all addresses are 0.
    char* end = nullptr;
    const uint64_t address = std::strtoull(line.c_str(), &end, 16);
    if (address == 0 || end[0] != ' ' || end[1] == '\0' || end[2] != ' ') continue;
    if (end[1] != 't' && end[1] != 'T' && end[1] != 'w' && end[1] != 'W') continue;
    std::string name = end + 3;
    name.resize(std::min(name.find('\t'), name.size()));
    functions_.emplace_back(address, std::move(name));
  }
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

KernelNames::Function KernelNames::at(uint64_t address) {
  if (!is_read_) read();
  auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                [](uint64_t value, const auto& function) { return value < function.first; });
  if (after == functions_.begin()) return {};
  --after;
  return {after->first, &after->second};
}

}  // namespace kymo::sample
