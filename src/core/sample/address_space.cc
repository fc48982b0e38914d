#include "sample/address_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace kymo::sample {

namespace {

constexpr size_t kRulePlaces = 4096;  // a power of two
constexpr size_t kMaxFiles = 400;     // each is an open file, and a process may have 1,024 of them
constexpr const char kVdso[] = "[vdso]";
constexpr std::string_view kMemory = "/memfd:";
constexpr std::string_view kDeleted = " (deleted)";  // what the kernel adds to the path of a file that was removed

// Opens only a path that cannot block.
base::FileDescriptor open_file(const std::string& path) {
  return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

size_t place_of(uint64_t address) { return (address * 0x9e3779b97f4a7c15u >> 40) & (kRulePlaces - 1); }

// The kernel has paths for memory too: "//anon", "/dev/zero" for memory that processes share, "/SYSV…".
bool is_file(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/SYSV") && path != "/dev/zero";
}

}  // namespace

std::shared_ptr<CodeFile> CodeFiles::find(pid_t pid, const MappedFile& mapped) {
  const auto key = std::tuple(mapped.path, mapped.inode, mapped.build_id);
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  if (files_.size() >= kMaxFiles)  // those that no process uses any more
    std::erase_if(files_, [this](const auto& entry) {
      const auto& [key, file] = entry;
      if (file.use_count() > 1) return false;
      const std::string& path = std::get<0>(key);
      if (file != nullptr && !file->sampled().empty())
        closed_.push_back({path, file->build_id(), path, file->sampled()});
      return true;
    });
  if (files_.size() >= kMaxFiles) return nullptr;
  if (mapped.path == kVdso) return files_.emplace(key, CodeFile::open_vdso()).first->second;
  if (!is_file(mapped.path)) return nullptr;
  // A process in a container has other files at the same paths. A file that was removed or replaced is still there for
  // its process: its program for everybody who may look at the process, the rest only with more rights.
  std::vector<std::string> candidates = {mapped.path, base::format("/proc/{}/root{}", pid, mapped.path)};
  // Only if something says which file it must be: it may be a library too.
  if (mapped.inode != 0 || !mapped.build_id.empty()) candidates.push_back(base::format("/proc/{}/exe", pid));
  candidates.push_back(base::format("/proc/{}/map_files/{:x}-{:x}", pid, mapped.begin, mapped.end));
  for (const std::string& candidate : candidates) {
    const std::shared_ptr<CodeFile> file = CodeFile::open(open_file(candidate));
    if (file == nullptr || (mapped.inode != 0 && file->inode() != mapped.inode) ||
        (!mapped.build_id.empty() && !file->build_id().starts_with(mapped.build_id)))
      continue;
    return files_.emplace(key, file).first->second;
  }
  return nullptr;  // not stored: it may be there for another process, or the process had ended
}

std::vector<SampledCode> CodeFiles::sampled() const {
  std::vector<SampledCode> all = closed_;
  for (const auto& [key, file] : files_) {
    if (file == nullptr || file->sampled().empty()) continue;
    const std::string& path = std::get<0>(key);
    all.push_back({path, file->build_id(), file->is_at(path) ? path : file->path_of_descriptor(), file->sampled()});
  }
  return all;
}

std::vector<MappedFile> mapped_code(pid_t pid) {
  std::vector<MappedFile> code;
  std::ifstream file(base::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    MappedFile mapped;
    char dash = 0;
    std::string rights, device;
    fields >> std::hex >> mapped.begin >> dash >> mapped.end >> rights >> mapped.file_offset >> device >> std::dec >>
        mapped.inode;
    if (!fields || rights.find('x') == std::string::npos) continue;
    std::getline(fields >> std::ws, mapped.path);
    if (mapped.path == kVdso) mapped.inode = 0;
    if (mapped.path.ends_with(kDeleted)) mapped.path.resize(mapped.path.size() - kDeleted.size());
    code.push_back(std::move(mapped));
  }
  return code;
}

auto AddressSpace::overlap(const MappedFile& mapped) const
    -> std::pair<Mappings::const_iterator, Mappings::const_iterator> {
  auto first = mappings_.lower_bound(mapped.begin);
  if (first != mappings_.begin() && std::prev(first)->second.mapped.end > mapped.begin) --first;
  return {first, mappings_.lower_bound(mapped.end)};
}

bool AddressSpace::is_other_code(const MappedFile& mapped) const {
  const auto is_same_file = [&](const MappedFile& before) {
    return before.path == mapped.path && before.begin - before.file_offset == mapped.begin - mapped.file_offset &&
           (before.inode == 0 || mapped.inode == 0 || before.inode == mapped.inode) &&
           (before.build_id.empty() || mapped.build_id.empty() || before.build_id == mapped.build_id);
  };
  const auto [first, last] = overlap(mapped);
  return std::any_of(first, last, [&](const auto& one) {
    // Memory has no file, so its distance to one means nothing.
    const MappedFile& before = one.second.mapped;
    if (is_file(before.path) || is_file(mapped.path)) return !is_same_file(before);
    return (before.path == kVdso) != (mapped.path == kVdso);
  });
}

void AddressSpace::map(MappedFile mapped) {
  if (mapped.begin >= mapped.end) return;
  if (mapped.path.ends_with(kDeleted)) mapped.path.resize(mapped.path.size() - kDeleted.size());
  const auto [first, last] = overlap(mapped);
  uint64_t generation = first == last ? 0 : first->second.generation;
  if (is_other_code(mapped)) generation = ++generation_;
  mappings_.erase(first, last);
  if (program_.empty() && is_file(mapped.path)) program_ = mapped.path;
  Mapping& made = mappings_[mapped.begin];
  made.mapped = std::move(mapped);
  made.generation = generation;
  rules_.clear();
}

void AddressSpace::read_maps(pid_t pid) {
  for (MappedFile& mapped : mapped_code(pid)) map(std::move(mapped));
}

bool AddressSpace::is_known(const MappedFile& mapped) const {
  const auto known = mappings_.find(mapped.begin);
  return known != mappings_.end() && !known->second.is_gone && known->second.mapped.end == mapped.end &&
         known->second.mapped.path == mapped.path && known->second.mapped.file_offset == mapped.file_offset;
}

std::vector<MappedFile> AddressSpace::missing_in(const std::vector<MappedFile>& mapped) const {
  std::vector<MappedFile> missing;
  for (const auto& entry : mappings_) {
    const Mapping& one = entry.second;
    const auto has_its_place = [&](const MappedFile& left) {
      return left.begin < one.mapped.end && one.mapped.begin < left.end;
    };
    if (!one.is_gone && std::ranges::none_of(mapped, has_its_place)) missing.push_back(one.mapped);
  }
  return missing;
}

void AddressSpace::unmap(const MappedFile& mapped) {
  if (const auto known = mappings_.find(mapped.begin); known != mappings_.end()) known->second.is_gone = true;
  rules_.clear();
}

uint64_t AddressSpace::meaning_of(uint64_t return_address) const {
  if (generation_ == 0) return return_address;
  const Mapping* const mapping = mapping_at(return_address - 1);
  return mapping == nullptr ? return_address : return_address ^ mapping->generation << unwind::kAddressBits;
}

const AddressSpace::Mapping* AddressSpace::mapping_at(uint64_t address) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  const Mapping& found = std::prev(after)->second;
  return address < found.mapped.end && !found.is_gone ? &found : nullptr;
}

bool AddressSpace::has_code_at(uint64_t address) const { return mapping_at(address) != nullptr; }

void AddressSpace::resolve(pid_t pid, Mapping& mapping) {
  if (mapping.is_resolved) return;
  mapping.is_resolved = true;
  const MappedFile& mapped = mapping.mapped;
  mapping.loaded = {mapped.begin - mapped.file_offset, mapped.end - mapped.begin + mapped.file_offset, mapped.path,
                    mapped.build_id};
  const std::shared_ptr<CodeFile> file = files_->find(pid, mapped);
  const auto distance = file == nullptr ? std::nullopt : file->distance(mapped.begin, mapped.file_offset);
  if (!distance) return;
  mapping.distance = *distance;
  mapping.loaded = {*distance + file->first(), file->size(), mapped.path, file->build_id(), file};
}

std::string AddressSpace::path_if_lost(pid_t pid, uint64_t return_address) {
  Mapping* const mapping = mapping_at(return_address - 1);
  if (mapping == nullptr) return {};
  resolve(pid, *mapping);
  const std::string& path = mapping->mapped.path;
  if (mapping->loaded.code == nullptr || (!is_file(path) && path != kVdso)) return {};
  return mapping->loaded.code->is_at(path) ? "" : mapping->loaded.code->path_of_descriptor();
}

unwind::Rule AddressSpace::rule(pid_t pid, uint64_t return_address) {
  if (rules_.empty()) rules_.resize(kRulePlaces);
  KnownRule& known = rules_[place_of(return_address)];
  if (known.address == return_address) return known.rule;
  known = {return_address, {}};
  Mapping* const mapping = mapping_at(return_address - 1);
  if (mapping == nullptr) return known.rule;
  resolve(pid, *mapping);
  // Code that a program made itself has no tables. It may have frame pointers.
  CodeFile* const file = mapping->loaded.code.get();
  known.rule = file == nullptr ? unwind::kByFramePointer : file->rule(return_address - mapping->distance);
  return known.rule;
}

const LoadedFile* AddressSpace::file_at(pid_t pid, uint64_t return_address) {
  Mapping* const mapping = mapping_at(return_address - 1);
  if (mapping == nullptr) return nullptr;
  resolve(pid, *mapping);
  const std::string& path = mapping->mapped.path;
  // The code that a program makes may be in memory that has a path, as that of .NET. A library may be there too.
  if (path.starts_with(kMemory) && mapping->loaded.code == nullptr) return nullptr;
  return is_file(path) || path == kVdso ? &mapping->loaded : nullptr;
}

}  // namespace kymo::sample
