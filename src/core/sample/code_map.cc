#include "sample/code_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/file.h"
#include "base/text.h"

namespace kymo::sample {

namespace {

constexpr off_t kLargestMap = 256 << 20;

// Takes a hexadecimal number and the blank after it.
bool take_number(std::string_view& line, uint64_t& number) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc() || !line.starts_with(' ')) return false;
  line.remove_prefix(1);
  return true;
}

std::string read_map(const std::string& path, uid_t owner) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != owner ||
      status.st_size > kLargestMap)
    return {};
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t read = 0;
  while (read < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + read, text.size() - read);
    if (got <= 0) break;
    read += static_cast<size_t>(got);
  }
  text.resize(read);
  return text;
}

}  // namespace

CodeMap CodeMap::of_process(pid_t pid) {
  // The user of a process that has ended is not known. Then its map must be ours.
  struct stat status {};
  const uid_t owner = ::stat(base::format("/proc/{}", pid).c_str(), &status) == 0 ? status.st_uid : ::geteuid();
  std::string text = read_map(base::format("/tmp/perf-{}.map", pid), owner);
  if (text.empty()) text = read_map(base::format("/proc/{0}/root/tmp/perf-{0}.map", pid), owner);
  return CodeMap(text);
}

CodeMap::CodeMap(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    uint64_t begin = 0, length = 0;
    if (!take_number(line, begin) || !take_number(line, length) || line.empty()) continue;
    if (length == 0 || begin > UINT64_MAX - length) continue;
    functions_[begin] = {begin + length, std::string(line)};
  }
}

std::string_view CodeMap::at(uint64_t address) const {
  auto after = functions_.upper_bound(address);
  if (after == functions_.begin()) return {};
  const Function& found = std::prev(after)->second;
  return address < found.end ? std::string_view(found.name) : std::string_view();
}

}  // namespace kymo::sample
