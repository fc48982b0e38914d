#include "base/unfinished_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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
std::atomic<int> being_made{0};

}  // namespace

UnfinishedFile::Slot UnfinishedFile::slots_[kSlots];

FileDescriptor UnfinishedFile::make(std::string& path) noexcept {
  done();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  ++being_made;
  FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  const int failure = errno;
  if (file) add(path);
  --being_made;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failure;
  return file;
}

void UnfinishedFile::add(const std::string& path) noexcept {
  if (path.size() >= sizeof Slot::path) return;
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
  constexpr timespec kMoment{0, 1'000'000};
  for (int i = 0; i < 1000 && being_made.load() != 0; ++i) ::nanosleep(&kMoment, nullptr);
  for (const Slot& slot : UnfinishedFile::slots_)
    if (slot.state.load() == Slot::kInUse && slot.owner == ::getpid()) ::unlink(slot.path);
}

}  // namespace kymo::base
