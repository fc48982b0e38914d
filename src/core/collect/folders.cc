#include "collect/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/environment.h"
#include "base/file.h"
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

// Calls see(path, name) for each file that has the name of a segment.
template <class See>
void for_segment_files(Whose whose, See see) {
  for (const std::string& folder : segment_folders(whose))
    for (const std::string& name : names_in(folder))
      if (is_segment_name(name)) see(folder + "/" + name, name);
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code unknown;  // if the working folder does not exist any more, opening the file reports it
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  return path.empty() || unknown ? path : whole.lexically_normal().string();
}

std::string segment_folder() {
  char path[record::kSegmentPathBytes];
  if (const record::Outcome found = record::segment_folder(path); !found)
    throw NotAvailable(
        base::format("no shared memory to record into ({}); set KYMO_SHM_DIR to a folder you may write", found.why()));
  return path;
}

std::vector<std::string> segment_folders(Whose whose) {
  std::set<std::string> bases{"/dev/shm", "/tmp"};
  for (const base::Variable variable : {base::Variable("KYMO_SHM_DIR"), base::Variable("XDG_RUNTIME_DIR")})
    if (const char* base = base::environment(variable); base != nullptr && base[0] != '\0') bases.insert(base);
  if (const char* only = base::environment("KYMO_SHM_DIR"); whose == Whose::Own && only != nullptr && only[0] != '\0')
    bases = {only};
  constexpr std::string_view kPrefix = "kymo-";
  std::vector<std::string> folders;
  for (const std::string& base : bases) {
    std::vector<std::string> names{base::format("{}{}", kPrefix, geteuid())};
    if (whose == Whose::All && geteuid() == 0) names = names_in(base);
    for (const std::string& name : names) {
      if (!name.starts_with(kPrefix)) continue;
      uid_t user = 0;
      const char* const end = name.data() + name.size();
      if (const auto read = std::from_chars(name.data() + kPrefix.size(), end, user); read.ptr != end) continue;
      std::string folder = base::format("{}/{}", base, name);
      struct stat status;
      if (lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user &&
          (status.st_mode & 077) == 0)
        folders.push_back(std::move(folder));
    }
  }
  return folders;
}

std::vector<FoundSegment> find_segments(const std::function<bool(const record::SegmentHeader&)>& wanted,
                                        const Search& search) {
  std::vector<FoundSegment> found;
  std::set<std::string>* const seen = search.seen;
  for_segment_files(search.whose, [&](const std::string& path, const std::string& name) {
    if (seen != nullptr && seen->contains(name)) return;
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    record::Mapping mapping;
    if (!record::map_segment(fd, mapping, search.sharing)) {
      close(fd);
      return;
    }
    if (seen != nullptr) seen->insert(name);
    if (base::hex(mapping.header->segment) == name && wanted(*mapping.header))
      found.push_back({path, mapping});
    else
      record::unmap_segment(mapping);
  });
  return found;
}

bool claim(const record::Mapping& mapping) {
  // The kernel may release the lock of a killed process some time after the process has ended.
  using namespace std::chrono_literals;
  const record::SegmentHeader& header = *mapping.header;
  // 0: /proc could not be read, then or now. Then only the lock shows if the process runs.
  const auto runs = [&] {
    const uint64_t identity = record::process_identity(header.pid);
    return identity != 0 && identity == header.process_identity;
  };
  // A process in another PID namespace cannot be checked here. If its lock is held, it is alive.
  const bool may_be_dying = header.pid_namespace == record::pid_namespace();
  const auto give_up = std::chrono::steady_clock::now() + 500ms;
  while (!record::lock_segment(mapping.fd, record::Holder::Owner)) {
    if (runs() || !may_be_dying || std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(5ms);
  }
  if (may_be_dying && runs()) return false;  // it has closed all its files
  struct stat status;
  return record::lock_segment(mapping.fd, record::Holder::Collector) && fstat(mapping.fd, &status) == 0 &&
         status.st_nlink != 0;  // 0: a collector before us has recovered it and removed the file
}

bool has_unread(const record::Mapping& mapping) {
  record::SegmentHeader& header = *mapping.header;
  if (header.closed.load() != 0) return false;  // its collector has finished with it
  if (header.lost_without_slot.load() != 0 || header.unrecorded_children.load() != 0) return true;
  const uint32_t used = std::min(header.slots_used.load(std::memory_order_acquire), mapping.geometry.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header, i)) continue;
    const record::Slot& slot = record::slot_page(&header, mapping.geometry, i)->slot;
    if (slot.head.load() != slot.tail.load() || slot.side_count.load() != 0 || slot.lost_ends != 0 ||
        slot.loss_pending.load() != 0)
      return true;
  }
  return false;
}

std::vector<std::string> segments_of_other_versions(Whose whose) {
  std::vector<std::string> paths;
  for_segment_files(whose, [&](const std::string& path, const std::string&) {
    const base::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct {
      uint64_t magic;
      uint32_t version;
    } head{};
    if (file && pread(file.get(), &head, sizeof head, 0) == sizeof head && head.magic == record::kSegmentMagic &&
        head.version != record::kSegmentVersion)
      paths.push_back(path);
  });
  return paths;
}

void remove_spent_segments() {
  for (FoundSegment& segment :
       find_segments([](const record::SegmentHeader& header) { return header.pid != static_cast<uint32_t>(getpid()); },
                     {.whose = Whose::Own})) {
    if (claim(segment.mapping) && !has_unread(segment.mapping)) unlink(segment.path.c_str());
    record::unmap_segment(segment.mapping);
  }
}

}  // namespace kymo::collect
