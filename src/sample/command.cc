#include "sample/command.h"

#include <unistd.h>

#include <array>
#include <fstream>

#include "base/clock.h"
#include "base/text.h"

namespace kymo::sample {

namespace {

std::string link_of(const std::string& path) {
  std::array<char, 4096> text;
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<size_t>(length)) : std::string();
}

}  // namespace

Command command_of(uint32_t pid) {
  Command command{link_of(base::format("/proc/{}/exe", pid)), {}, 0};
  std::ifstream file(base::format("/proc/{}/cmdline", pid));
  for (std::string word; std::getline(file, word, '\0');) command.words.push_back(word);
  command.read_ns = base::monotonic_ns();
  return command;
}

}  // namespace kymo::sample
