#include "allocation_stacks.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "kymo/annotate.h"
#include "of_thread.h"
#include "symbols/capture.h"

namespace kymo::libtorch {

namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kLongestPath = 768;
constexpr uint64_t kRoot = 1,
                   kTooDeep = 4;  // parents of the outermost frame: of a complete stack; of a truncated one
constexpr uint64_t kFirstNode = uint64_t{1} << 40;  // the heap's own stacks have numbers from 16 on
constexpr Label kNodeLabel("stack node", "kymo.stack"), kFileLabel("module", "kymo.stack");

// Odd: stacks are recorded. It changes with each recording, because a recording has no data of the previous one.
constinit std::atomic<uint64_t> stacks_epoch{0};

// ---- The files that contain the code, reported once per recording

struct LoadedFile {
  std::string path, build_id;
  uint64_t begin = 0, end = 0;
};

void append_hex(std::string& text, const unsigned char* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < count; ++i) (text += kDigits[bytes[i] >> 4]) += kDigits[bytes[i] & 15];
}

// The build id in the notes that are loaded with the file.
std::string build_id_in(const char* notes, size_t size) {
  constexpr size_t kAlign = 4;
  const auto padded = [](size_t length) { return (length + kAlign - 1) / kAlign * kAlign; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > size) break;
    const char* const name = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string id;
      append_hex(id, reinterpret_cast<const unsigned char*>(name + padded(note.n_namesz)), note.n_descsz);
      return id;
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

struct FileSearch {
  uintptr_t address;
  LoadedFile found;
};

int look_into(dl_phdr_info* info, size_t, void* argument) noexcept try {
  auto& search = *static_cast<FileSearch*>(argument);
  LoadedFile file;
  bool holds_it = false;
  file.begin = UINT64_MAX;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_NOTE && file.build_id.empty())
      file.build_id = build_id_in(reinterpret_cast<const char*>(begin), part.p_memsz);
    if (part.p_type != PT_LOAD) continue;
    file.begin = std::min<uint64_t>(file.begin, begin);
    file.end = std::max<uint64_t>(file.end, end);
    holds_it = holds_it || (search.address >= begin && search.address < end);
  }
  if (!holds_it) return 0;
  file.path = info->dlpi_name;
  if (file.path.empty()) {  // the program itself
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    file.path.assign(path, length > 0 ? static_cast<size_t>(length) : 0);
  }
  if (file.path.size() > kLongestPath) file.path.resize(kLongestPath);
  search.found = std::move(file);
  return 1;
} catch (const std::bad_alloc&) {
  return 1;
}

// Which files were reported in which recording.
struct ReportedFiles {
  std::mutex mutex;
  uint64_t epoch = 0;
  std::unordered_set<uint64_t> begins;
};
ReportedFiles& reported_files() {
  static auto* const reported = new ReportedFiles;
  return *reported;
}

void tell_file_of(uintptr_t address, uint64_t epoch) {
  FileSearch search{address, {}};
  dl_iterate_phdr(look_into, &search);
  const LoadedFile& file = search.found;
  if (file.end == 0) return;
  {
    ReportedFiles& reported = reported_files();
    const std::lock_guard lock(reported.mutex);
    if (std::exchange(reported.epoch, epoch) != epoch) reported.begins.clear();
    if (!reported.begins.insert(file.begin).second) return;
  }
  mark(kFileLabel, arg("path", file.path), arg("base", reinterpret_cast<const void*>(file.begin)),
       bytes("size", file.end - file.begin), arg("build_id", file.build_id));
}

// ---- A thread's tree

class StackTree {
 public:
  uint64_t node_of(std::span<const uintptr_t> innermost_first, uint64_t epoch) {
    if (std::exchange(epoch_, epoch) != epoch) nodes_.clear();
    uint64_t node = innermost_first.size() == kDeepest ? kTooDeep : kRoot;
    for (auto address = innermost_first.rbegin(); address != innermost_first.rend(); ++address)
      node = child(node, *address);
    return node;
  }

 private:
  struct Place {
    uint64_t parent;
    uintptr_t address;
    bool operator==(const Place&) const = default;
  };
  struct HashPlace {
    size_t operator()(const Place& place) const noexcept {
      return (place.parent * 0x9e3779b97f4a7c15u ^ place.address) * 0xbf58476d1ce4e5b9u >> 16;
    }
  };

  uint64_t child(uint64_t parent, uintptr_t address) {
    const auto [found, is_new] = nodes_.try_emplace({parent, address}, kFirstNode + nodes_.size());
    if (is_new) {
      tell_file_of(address - 1, epoch_);
      mark(kNodeLabel, arg("node", found->second), arg("parent", parent),
           arg("address", reinterpret_cast<const void*>(address)));
    }
    return found->second;
  }

  uint64_t epoch_ = 0;
  std::unordered_map<Place, uint64_t, HashPlace> nodes_;
};

}  // namespace

void record_allocation_stacks(bool on) noexcept {
  const uint64_t epoch = stacks_epoch.load(std::memory_order_relaxed);
  stacks_epoch.store((epoch | 1) + (on ? 2 : 1), std::memory_order_relaxed);
}

uint64_t allocation_stack() noexcept try {
  const uint64_t epoch = stacks_epoch.load(std::memory_order_relaxed);
  if ((epoch & 1) == 0 || kymo_is_recording() == 0) return 0;
  StackTree* const tree = OfThread<StackTree>::get();
  if (tree == nullptr) return 0;
  std::array<uintptr_t, kDeepest> found;
  const size_t count = symbols::capture(found, 2, symbols::chosen_method());
  return tree->node_of({found.data(), count}, epoch);
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace kymo::libtorch
