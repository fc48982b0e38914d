#include "profiler/entries.h"

namespace kymo::profiler {
namespace {

constexpr size_t kFirstTable = 256;
constexpr uint32_t kSharedEntries = 4;  // reserved for entries after the limit

}  // namespace

std::string Entry::id() const {
  const char* letter = kind == EntryKind::Kernel ? "K" : kind == EntryKind::Operation ? "G" : "";
  return letter + std::to_string(number);
}

Entries::Entries() {
  tables_.push_back(std::make_unique<Table>(kFirstTable));
  kernels_.store(tables_.back().get(), std::memory_order_release);
}

Entries::~Entries() {
  for (auto& chunk : chunks_) delete[] chunk.load();
}

size_t Entries::place_of(const void* handle, std::string_view name) noexcept {
  const auto mixed = (reinterpret_cast<uintptr_t>(handle) ^ (reinterpret_cast<uintptr_t>(name.data()) << 1)) >> 3;
  return static_cast<size_t>((mixed * 0x9e3779b97f4a7c15u) >> 24);
}

Entry* Entries::find_kernel(const void* handle, std::string_view name) const noexcept {
  const Table& table = *kernels_.load(std::memory_order_acquire);
  const size_t last = table.slots.size() - 1;
  for (size_t at = place_of(handle, name) & last;; at = (at + 1) & last) {
    Entry* entry = table.slots[at].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->handle == handle && entry->source_name.data() == name.data()) return entry;
  }
}

void Entries::put(Table& table, Entry& entry) noexcept {
  const size_t last = table.slots.size() - 1;
  size_t at = place_of(entry.handle, entry.source_name) & last;
  while (table.slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & last;
  table.slots[at].store(&entry, std::memory_order_release);
}

Entry& Entries::add(EntryKind kind, std::string_view name) {
  auto& chunk = chunks_[count_ / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Entry[kChunk], std::memory_order_release);
  Entry& entry = at(count_);
  entry.kind = kind;
  entry.name = name;
  entry.index = count_++;
  entry.number = ++numbers_[static_cast<size_t>(kind)];
  return entry;
}

Entry& Entries::shared(EntryKind kind) {
  Entry*& entry = shared_[static_cast<size_t>(kind)];
  if (entry == nullptr) entry = &add(kind, "others");
  return *entry;
}

Entry& Entries::kernel(const void* handle, std::string_view name) {
  std::lock_guard lock(mutex_);
  if (Entry* found = find_kernel(handle, name)) return *found;
  if (count_ >= kMax - kSharedEntries) return shared(EntryKind::Kernel);
  if (2 * (kernel_count_ + 1) > kernels_.load(std::memory_order_relaxed)->slots.size()) {
    const Table& before = *tables_.back();
    auto larger = std::make_unique<Table>(2 * before.slots.size());
    for (const auto& slot : before.slots)
      if (Entry* moved = slot.load(std::memory_order_relaxed)) put(*larger, *moved);
    tables_.push_back(std::move(larger));
    kernels_.store(tables_.back().get(), std::memory_order_release);
  }
  Entry& entry = add(EntryKind::Kernel, name);
  entry.handle = handle;
  entry.source_name = name;
  put(*tables_.back(), entry);
  ++kernel_count_;
  return entry;
}

Entry& Entries::named(EntryKind kind, std::string_view name) {
  std::lock_guard lock(mutex_);
  std::pair<EntryKind, std::string> wanted(kind, name);
  if (const auto found = by_name_.find(wanted); found != by_name_.end()) return *found->second;
  if (count_ >= kMax - kSharedEntries) return shared(kind);
  Entry& entry = add(kind, name);
  by_name_.emplace(std::move(wanted), &entry);
  return entry;
}

void Entries::set_key(Entry& entry, uint64_t bytes, std::string key) {
  std::lock_guard lock(mutex_);
  if (entry.has_key.load(std::memory_order_relaxed)) return;
  entry.key = std::move(key);
  entry.key_bytes.store(bytes, std::memory_order_relaxed);
  entry.has_key.store(true, std::memory_order_relaxed);
}

std::string Entries::key_of(const Entry& entry) const {
  std::lock_guard lock(mutex_);
  if (!entry.has_key.load(std::memory_order_relaxed)) return entry.name;
  return entry.varies.load(std::memory_order_relaxed) ? entry.key + " and other sizes" : entry.key;
}

std::vector<Entry*> Entries::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Entry*> entries;
  entries.reserve(count_);
  for (uint32_t i = 0; i < count_; ++i) entries.push_back(&at(i));
  return entries;
}

void Entries::reset_counts() noexcept {
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < count_; ++i) {
    Entry& entry = at(i);
    for (auto* count : {&entry.runs, &entry.gpu_ns, &entry.call_ns, &entry.bytes, &entry.scalars, &entry.scalar_gpu_ns,
                        &entry.blocking})
      count->store(0, std::memory_order_relaxed);
    entry.flops.store(0, std::memory_order_relaxed);
    entry.has_key.store(false, std::memory_order_relaxed);
    entry.varies.store(false, std::memory_order_relaxed);
  }
}

}  // namespace kymo::profiler
