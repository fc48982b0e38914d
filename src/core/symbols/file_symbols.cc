#include "symbols/file_symbols.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "symbols/debug_information.h"

namespace kymo::symbols {

namespace {

constexpr size_t kMaxFiles = 4096;  // max open files; addresses in further files are shown as offsets
constexpr size_t kLeastIdDigits = 4;

// Opens only a regular file. Another kind of file could block the caller, or opening it could have an effect.
base::FileDescriptor open_plain_file(const std::string& path) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) return {};
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Where distributions install what they strip from files.
std::string debug_file_of(const std::string& build_id) {
  if (build_id.size() < kLeastIdDigits || !is_hexadecimal(build_id)) return {};
  return base::format("/usr/lib/debug/.build-id/{}/{}.debug", build_id.substr(0, 2), build_id.substr(2));
}

std::unique_ptr<DebugInformation> open_code(const std::string& path, const std::string& build_id) {
  for (const std::string& candidate : {path, debug_file_of(build_id)}) {
    base::FileDescriptor file = open_plain_file(candidate);
    if (!file) continue;
    auto information = std::make_unique<DebugInformation>(std::move(file), candidate);
    if (!information->begins_at()) continue;
    if (build_id.empty() || information->build_id() == build_id) return information;
  }
  return nullptr;
}

}  // namespace

struct FileSymbols::Impl {
  struct File {
    std::unique_ptr<DebugInformation> information;             // null: not available
    std::unordered_map<uint64_t, std::vector<Frame>> known{};  // by offset: many processes load the same file
  };
  std::map<std::pair<std::string, std::string>, File> files;

  File* file(const std::string& path, const std::string& build_id) {
    auto known = files.find({path, build_id});
    if (known == files.end() && files.size() < kMaxFiles)
      known = files.emplace(std::pair(path, build_id), File{open_code(path, build_id)}).first;
    return known == files.end() || known->second.information == nullptr ? nullptr : &known->second;
  }
};

FileSymbols::FileSymbols() : impl_(std::make_unique<Impl>()) {}
FileSymbols::~FileSymbols() = default;
FileSymbols::FileSymbols(FileSymbols&&) noexcept = default;
FileSymbols& FileSymbols::operator=(FileSymbols&&) noexcept = default;

std::vector<Frame> FileSymbols::at_return_address(const std::string& path, const std::string& build_id,
                                                  uint64_t offset) {
  std::vector<Frame> frames;
  if (Impl::File* const file = impl_->file(path, build_id)) {
    const uint64_t begin = *file->information->begins_at();
    const auto [entry, is_new] = file->known.try_emplace(offset);
    if (is_new && offset <= UINT64_MAX - begin) entry->second = file->information->frames(begin + offset);
    frames = entry->second;
  }
  if (frames.empty()) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    frames.emplace_back().function = base::format("{}+{:#x}", name, offset);
  }
  for (Frame& frame : frames) frame.module = path;  // the file itself, not the file with its debug information
  return frames;
}

std::optional<CodeOfFunction> FileSymbols::function_at(const std::string& path, const std::string& build_id,
                                                       uint64_t offset) {
  const Impl::File* const file = impl_->file(path, build_id);
  if (file == nullptr || offset > UINT64_MAX - *file->information->begins_at()) return std::nullopt;
  return file->information->function(*file->information->begins_at() + offset);
}

bool FileSymbols::has_debug_file(const std::string& build_id) {
  const std::string path = debug_file_of(build_id);
  return !path.empty() && ::access(path.c_str(), R_OK) == 0;
}

bool FileSymbols::has_file(const std::string& path, const std::string& build_id) const {
  const auto known = impl_->files.find({path, build_id});
  return known != impl_->files.end() && known->second.information != nullptr;
}

}  // namespace kymo::symbols
