#include "collect/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::collect {
namespace {

bool is_segment_name(const std::string& name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* handle = opendir(folder.c_str());
  if (handle == nullptr) return names;
  while (const dirent* entry = readdir(handle)) names.emplace_back(entry->d_name);
  closedir(handle);
  std::sort(names.begin(), names.end());
  return names;
}

bool has_unread(record::SegmentHeader& header) {
  if (header.closed.load() != 0) return false;  // its collector was done with it
  if (header.lost_without_slot.load() != 0) return true;
  const uint32_t used = std::min(header.slots_used.load(std::memory_order_acquire), header.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header, i)) continue;
    const record::Slot& slot = record::slot_page(&header, i)->slot;
    if (slot.head.load() != slot.tail.load() || slot.side_count.load() != 0 || slot.lost_ends != 0 ||
        slot.loss_pending.load() != 0)
      return true;
  }
  return false;
}

}  // namespace

std::string to_hex(const uint8_t (&id)[16]) { return base::hex(id); }

std::string segment_folder() {
  char path[record::kSegmentPathBytes];
  char why[1024];
  if (!record::segment_folder(path, why, sizeof why))
    throw NotAvailable(
        base::format("no shared memory to record into ({}); set KYMO_SHM_DIR to a folder you may write", why));
  return path;
}

std::vector<std::string> segment_folders() {
  std::set<std::string> bases{"/dev/shm", "/tmp"};
  for (const char* variable : {"KYMO_SHM_DIR", "XDG_RUNTIME_DIR"})
    if (const char* base = base::environment(variable); base != nullptr && base[0] != '\0') bases.insert(base);
  std::vector<std::string> folders;
  for (const std::string& base : bases) {
    std::string folder = base::format("{}/kymo-{}", base, geteuid());
    struct stat status;
    if (lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
        (status.st_mode & 077) == 0)
      folders.push_back(std::move(folder));
  }
  return folders;
}

std::vector<FoundSegment> find_segments(const std::function<bool(const record::SegmentHeader&)>& wanted,
                                        std::set<std::string>* seen) {
  std::vector<FoundSegment> found;
  for (const std::string& folder : segment_folders()) {
    for (const std::string& name : names_in(folder)) {
      if (!is_segment_name(name) || (seen != nullptr && seen->contains(name))) continue;
      const std::string path = folder + "/" + name;
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
      if (fd < 0) continue;
      record::Mapping mapping;
      if (!record::map_segment(fd, mapping)) {
        close(fd);
        continue;
      }
      if (seen != nullptr) seen->insert(name);
      if (to_hex(mapping.header->segment) == name && wanted(*mapping.header))
        found.push_back({path, mapping});
      else
        record::unmap_segment(mapping);
    }
  }
  return found;
}

bool claim(const record::Mapping& mapping) {
  // The kernel may let go of a killed process's lock some time after the process itself is gone.
  using namespace std::chrono_literals;
  const record::SegmentHeader& header = *mapping.header;
  const auto give_up = std::chrono::steady_clock::now() + 500ms;
  while (!record::lock_segment(mapping.fd, record::Holder::Owner)) {
    const bool runs = record::process_identity(header.pid) == header.process_identity;
    if (runs || std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(5ms);
  }
  if (record::process_identity(header.pid) == header.process_identity) return false;  // it has closed all its files
  struct stat status;
  return record::lock_segment(mapping.fd, record::Holder::Collector) && fstat(mapping.fd, &status) == 0 &&
         status.st_nlink != 0;  // who was here before us has brought it home
}

void remove_spent_segments() {
  for (FoundSegment& segment : find_segments(
           [](const record::SegmentHeader& header) { return header.pid != static_cast<uint32_t>(getpid()); })) {
    if (claim(segment.mapping) && !has_unread(*segment.mapping.header)) unlink(segment.path.c_str());
    record::unmap_segment(segment.mapping);
  }
}

}  // namespace kymo::collect
