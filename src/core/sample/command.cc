#include "sample/command.h"

#include <unistd.h>

#include <array>
#include <fstream>

#include "base/clock.h"
#include "base/run_variables.h"
#include "base/text.h"

namespace kymo::sample {

namespace {

std::string link_of(const std::string& path) {
  std::array<char, 4096> text;
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<size_t>(length)) : std::string();
}

std::vector<std::string> strings_of(const std::string& path) {
  std::vector<std::string> all;
  std::ifstream file(path);
  for (std::string one; std::getline(file, one, '\0');) all.push_back(one);
  return all;
}

}  // namespace

Command command_of(uint32_t pid) {
  Command command;
  command.path = link_of(base::format("/proc/{}/exe", pid));
  command.words = strings_of(base::format("/proc/{}/cmdline", pid));
  command.variables = strings_of(base::format("/proc/{}/environ", pid));
  std::erase_if(command.variables, [](const std::string& variable) { return !base::describes_run(variable); });
  command.read_ns = base::monotonic_ns();
  return command;
}

}  // namespace kymo::sample
