#include "base/temporary_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/output_path.h"
#include "base/text.h"
#include "kymo/error.h"

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

TemporaryFile::TemporaryFile() {
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  if (missing) throw Error("there is no folder for temporary files: set TMPDIR to one");
  path_ = (folder / "kymo-XXXXXX").string();
  name_ = format("a temporary file in {} (set TMPDIR to another folder)", folder.string());
  if (!unfinished_.make(path_)) throw file_error("write", name_, errno);
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

AtomicFile::AtomicFile(const std::string& path) : path_(output_path(path)), temporary_(path_ + ".XXXXXX") {
  file_ = unfinished_.make(temporary_);
  if (!file_) throw file_error("write", path, errno);
}

AtomicFile::~AtomicFile() {
  if (file_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  size_t written = 0;
  if (const int error = write_all(file_.get(), bytes, written); error != 0) throw file_error("write", path_, error);
}

void AtomicFile::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_error("write", path_, errno);
  file_.reset();
  unfinished_.done();
}

}  // namespace kymo::base
