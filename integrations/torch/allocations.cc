#include "allocations.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "call_ranges.h"
#include "kymo/annotate.h"
#include "kymo/error.h"
#include "kymo/queue.h"
#include "of_thread.h"
#include "symbols/capture.h"

namespace kymo::libtorch {

namespace {

// ---- Stacks --------------------------------------------------------------------------------------------------------

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

// The node of the calling thread's stack. The node is reported before this returns. 0: stacks are not wanted, or there
// is no memory.
[[gnu::noinline]] uint64_t allocation_stack() noexcept try {  // its frame is one of the two that are skipped
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

// ---- Allocators ----------------------------------------------------------------------------------------------------

constexpr size_t kMaxAllocators = 4;  // max number of allocators that a program sets one after the other
constexpr std::string_view kDevice = "cpu";

constinit std::atomic<bool> is_watched{false};

void tell_taken(const void* address, size_t bytes) noexcept {
  static constexpr Label label("allocate", "memory");
  std::array<kymo_arg, 4> fields{kymo::bytes("bytes", bytes), arg("device", kDevice)};
  uint32_t count = 2;
  if (const std::string_view category = memory_category(); !category.empty())
    fields[count++] = arg("category", category);
  if (const uint64_t node = allocation_stack(); node != 0) fields[count++] = arg("node", node);
  kymo_allocation(&label, fields.data(), count, reinterpret_cast<uintptr_t>(address));
}

void tell_returned(const void* address) noexcept {
  static constexpr Label label("free", "memory");
  const kymo_arg device = arg("device", kDevice);
  kymo_free(&label, &device, 1, reinterpret_cast<uintptr_t>(address));
}

// Memory is freed by a function that gets only its address, so each allocator of the program has its own function.
class WatchedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const override {
    c10::DataPtr memory = asked_->allocate(bytes);
    const bool comes_back_here = memory.get() != nullptr && memory.get_context() == memory.get() &&
                                 returns_ != nullptr && memory.compare_exchange_deleter(returns_, own_returns_);
    if (comes_back_here && is_watched.load(std::memory_order_relaxed)) tell_taken(memory.get(), bytes);
    return memory;
  }
  c10::DeleterFnPtr raw_deleter() const override { return returns_ == nullptr ? nullptr : own_returns_; }

  void ask(c10::Allocator* allocator, c10::DeleterFnPtr own_returns) {
    asked_ = allocator;
    returns_ = allocator->raw_deleter();
    own_returns_ = own_returns;
  }
  c10::Allocator* asked() const { return asked_; }
  void give_back(void* memory) const {
    if (memory != nullptr && is_watched.load(std::memory_order_relaxed)) tell_returned(memory);
    returns_(memory);
  }

 private:
  c10::Allocator* asked_ = nullptr;
  c10::DeleterFnPtr returns_ = nullptr, own_returns_ = nullptr;
};

// Never destroyed: tensors outlive everything.
std::array<WatchedAllocator, kMaxAllocators>& watched_allocators() {
  static auto* const all = new std::array<WatchedAllocator, kMaxAllocators>;
  return *all;
}

template <size_t kNumber>
void return_to(void* memory) {
  watched_allocators()[kNumber].give_back(memory);
}

template <size_t... kNumbers>
constexpr std::array<c10::DeleterFnPtr, kMaxAllocators> make_ways_back(std::index_sequence<kNumbers...>) {
  return {return_to<kNumbers>...};
}
constexpr auto kWaysBack = make_ways_back(std::make_index_sequence<kMaxAllocators>());

WatchedAllocator& watcher_of(c10::Allocator* allocator) {
  for (size_t i = 0; i < kMaxAllocators; ++i) {
    WatchedAllocator& watched = watched_allocators()[i];
    if (&watched == allocator) return watched;  // the program has put it back there itself
    if (watched.asked() == nullptr) watched.ask(allocator, kWaysBack[i]);
    if (watched.asked() == allocator) return watched;
  }
  throw Error(
      "libtorch's memory cannot be recorded: the program has set its CPU allocator too often; profile without memory");
}

// libtorch accepts an allocator only with a priority that is not below the current one, and does not report the current
// one. The lowest accepted priority changes nothing else.
uint8_t set_allocator(c10::Allocator* allocator, unsigned priority = 0) {
  for (; priority < UINT8_MAX; ++priority) {
    c10::SetCPUAllocator(allocator, static_cast<uint8_t>(priority));
    if (c10::GetCPUAllocator() == allocator) break;
  }
  c10::SetCPUAllocator(allocator, static_cast<uint8_t>(priority));
  return static_cast<uint8_t>(priority);
}

struct Replaced {
  WatchedAllocator* by = nullptr;
  uint8_t priority = 0;
};
constinit Replaced replaced;

}  // namespace

void record_allocation_stacks(bool on) noexcept {
  const uint64_t epoch = stacks_epoch.load(std::memory_order_relaxed);
  stacks_epoch.store((epoch | 1) + (on ? 2 : 1), std::memory_order_relaxed);
}

void watch_allocator() {
  stop_watching_allocator();
  WatchedAllocator& watched = watcher_of(c10::GetCPUAllocator());
  is_watched.store(true, std::memory_order_relaxed);
  replaced = {&watched, set_allocator(&watched)};
}

void stop_watching_allocator() noexcept {
  is_watched.store(false, std::memory_order_relaxed);
  const Replaced was = std::exchange(replaced, {});
  if (was.by != nullptr && c10::GetCPUAllocator() == was.by) c10::SetCPUAllocator(was.by->asked(), was.priority);
}

}  // namespace kymo::libtorch
