#include "sample/code_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/clock.h"
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

namespace {

constexpr size_t kMaxText = 16 << 10;  // names of templates are long, and a part of one cannot be shortened well
constexpr size_t kFramesOfAPart = 16'384;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A function without a name has that of its file, which may be read through the number of a descriptor.
std::string name_of(const symbols::Frame& frame, const SampledCode& file) {
  const std::string_view read_from = last_part(file.read_from), name = frame.function;
  if (!name.starts_with(read_from) || !name.substr(read_from.size()).starts_with('+')) return frame.function;
  return std::string(last_part(file.path)) + std::string(name.substr(read_from.size()));
}

}  // namespace

NamesOfCode names_of(const std::vector<SampledCode>& code, uint64_t until_ns) {
  NamesOfCode names;
  std::vector<const SampledCode*> files;
  for (const SampledCode& file : code) files.push_back(&file);
  std::stable_partition(files.begin(), files.end(),
                        [](const SampledCode* file) { return file->read_from != file->path; });
  uint32_t modules = 0, frames = 0;
  for (const SampledCode* const file : files) {
    symbols::FileSymbols symbols;  // one file at a time, because its debug information may need much memory
    const uint32_t module = ++modules;
    bool is_stated = false;
    for (const uint64_t offset : file->offsets) {
      if (base::monotonic_ns() >= until_ns) {
        ++names.left;
        continue;
      }
      if (names.parts.empty() || names.parts.back().frames.size() >= kFramesOfAPart) names.parts.emplace_back();
      CodeNames& part = names.parts.back();
      if (!std::exchange(is_stated, true)) part.modules.push_back({module, file->path, file->build_id, 0, 0});
      for (const symbols::Frame& frame : symbols.at_return_address(file->read_from, file->build_id, offset))
        part.frames.push_back({++frames, module, offset, name_of(frame, *file).substr(0, kMaxText),
                               frame.file.substr(0, kMaxText), frame.line});
    }
  }
  return names;
}

}  // namespace kymo::sample
