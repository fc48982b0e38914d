// The profiler: hears of every operation on every device (device/watcher.h), counts it, and tells of it as asked.
//
//   queued()     finds the kernel's entry, numbers the run, sends the begin of an interval
//      │         the number that it returns holds all that is needed later, unless there is a text or a scope to keep:
//      │         then it is the address of a note
//   completed()  adds to the entry's counts, sends the end of the interval, the event, the line
//
// While nobody reads texts nothing is allocated and nothing is locked. One profiler in a process; a forked child gets a
// new one that watches nothing. Threads: all of it from any thread. What changes what is watched has a lock of its own,
// under which no device is called.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/allocator/spin_lock.h"
#include "device/watcher.h"
#include "kymo/profiler.h"
#include "profiler/entries.h"
#include "profiler/scope.h"
#include "profiler/telling.h"

namespace kymo::profiler {

class Profiler final : public device::Watcher {
 public:
  Profiler();

  uint64_t queued(const device::StreamState& stream, const device::Operation& operation) noexcept override;
  void completed(const device::StreamState& stream, const device::Operation& operation, uint64_t execution,
                 const device::OperationTimes& times) noexcept override;
  void lost(const device::StreamState& stream, const device::Operation& operation,
            uint64_t execution) noexcept override;
  bool waits() const noexcept override { return wanted().waits(); }

  Wanted wanted() const noexcept { return Wanted(wanted_.load(std::memory_order_relaxed)); }

  // What start(), set_signposts() and set_log() were given, as masks.h has it.
  bool start(uint32_t mask);  // false: it runs already
  void stop() noexcept;
  bool is_running() const noexcept { return started_.load(std::memory_order_relaxed) != 0; }
  void set_signposts(uint32_t mask);
  void set_log(uint32_t mask);
  uint32_t log() const noexcept { return log_.load(std::memory_order_relaxed); }

  // For the scopes of kymo/profiler.h. A named operation that nobody watches is null.
  Scope* open_scope(std::string_view name, std::initializer_list<const device::Tensor*> tensors, double flops);
  void finish(Scope& scope) noexcept;  // all of it is over
  Entries& entries() { return entries_; }

  // Of what was told by now.
  profiler::Statistics statistics() const;
  void reset_statistics() noexcept;

  // Waits for what was queued, five seconds at most, and has it told. Then prints the tables that the log asks for:
  // once in a process, whoever asks first; whoever asks meanwhile waits for that.
  void print_at_end() noexcept;

 private:
  struct Note {  // of an execution that has more to keep than a number does
    Entry* entry = nullptr;
    uint64_t run = 0;
    Telling telling;
    Scope* scope = nullptr;
    std::string key;
    Note* next = nullptr;  // while it is free
  };

  Entry& entry_of(const device::StreamState& stream, const device::Operation& operation);
  uint64_t queued_with_note(const device::StreamState& stream, const device::Operation& operation, Entry* entry,
                            uint64_t run, const Telling& telling, Scope* scope);
  Note* take_note();
  void give_note(Note* note) noexcept;
  void over(const device::StreamState& stream, const device::Operation& operation, uint64_t execution,
            const device::OperationTimes* times) noexcept;
  void apply();

  Entries entries_;
  std::array<Entry*, 3> copies_{};  // by where they go
  std::atomic<uint32_t> wanted_{0};
  std::atomic<uint64_t> lost_{0};

  std::mutex mutex_;  // to change what is watched
  std::atomic<uint32_t> started_{0}, log_{0};
  uint32_t signposts_ = 0;

  device::SpinLock notes_lock_;
  Note* free_notes_ = nullptr;
  std::vector<std::unique_ptr<Note>> notes_;

  std::once_flag printed_;
};

// This process's. Never destroyed.
Profiler& the_profiler();
// The same, but null where nobody has asked for it yet.
Profiler* the_profiler_or_null() noexcept;

}  // namespace kymo::profiler
