#include "base/unfinished_file.h"

#include <unistd.h>

#include <cstring>

namespace kymo::base {

struct UnfinishedFile::Slot {
  enum State : int { kFree, kChanging, kInUse };
  static_assert(std::atomic<int>::is_always_lock_free);  // for signal handlers

  std::atomic<int> state{kFree};
  pid_t owner = 0;
  char path[1024] = {};
};

namespace {
constexpr size_t kSlots = 64;
}

UnfinishedFile::Slot UnfinishedFile::slots_[kSlots];

void UnfinishedFile::begin(const std::string& path) noexcept {
  if (slot_ != nullptr || path.size() >= sizeof Slot::path) return;
  for (Slot& slot : slots_) {
    int expected = Slot::kFree;
    if (!slot.state.compare_exchange_strong(expected, Slot::kChanging)) continue;
    slot.owner = ::getpid();
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.state.store(Slot::kInUse);
    slot_ = &slot;
    return;
  }
}

void UnfinishedFile::done() noexcept {
  if (slot_ != nullptr) slot_->state.store(Slot::kFree);
  slot_ = nullptr;
}

void remove_unfinished_files() noexcept {
  using Slot = UnfinishedFile::Slot;
  for (const Slot& slot : UnfinishedFile::slots_)
    if (slot.state.load() == Slot::kInUse && slot.owner == ::getpid()) ::unlink(slot.path);
}

}  // namespace kymo::base
