#include "sample/lost_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "symbols/file_symbols.h"

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

std::vector<std::pair<uint64_t, std::string>> names_in_lost_files(AddressSpace& code, pid_t pid,
                                                                  const std::set<uint64_t>& addresses) {
  constexpr size_t kMaxName = 1024;
  std::vector<std::pair<uint64_t, std::string>> names;
  symbols::FileSymbols symbols;
  std::optional<CodeMap> made;           // by the program itself
  std::map<uint64_t, std::string> lost;  // where to read a file, by its base; empty: it is still there
  for (const uint64_t address : addresses) {
    const LoadedFile* const file = code.file_at(pid, address);
    if (file == nullptr) {
      if (!made) made.emplace(CodeMap::of_process(pid));
      if (const std::string_view name = made->at(address - 1); !name.empty())
        names.emplace_back(address, name.substr(0, kMaxName));
      continue;
    }
    if (address < file->base) continue;
    const auto [entry, is_new] = lost.try_emplace(file->base);
    const std::string& path = entry->second;
    if (is_new) entry->second = code.path_if_lost(pid, address);
    if (path.empty()) continue;
    // The last frame is the function; the others are inlined there.
    std::string name = symbols.at_return_address(path, file->build_id, address - file->base).back().function;
    // A function without a name has that of the file, which is the number of a descriptor here.
    const std::string_view read_from = std::string_view(path).substr(path.rfind('/') + 1);
    if (name.starts_with(read_from) && name.substr(read_from.size()).starts_with('+'))
      name = file->path.substr(file->path.rfind('/') + 1) + name.substr(read_from.size());
    names.emplace_back(address, name.substr(0, kMaxName));
  }
  return names;
}

}  // namespace kymo::sample
