#include "sample/kernel_names.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

namespace kymo::sample {

namespace {

std::string contents_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  constexpr size_t kPiece = 1 << 20;
  while (file) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    file.read(text.data() + before, kPiece);
    text.resize(before + static_cast<size_t>(file.gcount()));
  }
  return text;
}

}  // namespace

// A line is "ffffffff81000000 T name", and for a module "\t[module]" after it. Without rights, all addresses are 0.
void KernelNames::read(std::string text) {
  is_read_ = true;
  text_ = std::move(text);
  constexpr std::string_view kCode = "tTwW";
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    uint64_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto at = static_cast<size_t>(end - line.data());
    if (error != std::errc() || address == 0 || line.size() < at + 4 || line[at] != ' ' || line[at + 2] != ' ' ||
        kCode.find(line[at + 1]) == kCode.npos)
      continue;
    const std::string_view name = line.substr(at + 3);
    functions_.push_back({address, name.substr(0, name.find('\t'))});
  }
  std::ranges::stable_sort(functions_, {}, &Function::begin);
}

KernelNames::Function KernelNames::at(uint64_t address) {
  if (!is_read_) read(contents_of("/proc/kallsyms"));
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  return after == functions_.begin() ? Function{} : *std::prev(after);
}

}  // namespace kymo::sample
