// The profiler: it is called for every operation on every device (device/watcher.h), counts it, and reports it as
// requested.
//
//   queued()     finds the kernel's entry, numbers the run, sends the begin of an interval
//      │         returns a number with everything that is needed later; if there is a text or a scope to keep, the
//      │         number is the address of a note
//   completed()  adds to the entry's counts, sends the end of the interval, the event, the line
//
// If no sink reads texts, it does not allocate or lock. There is one profiler per process; a forked child gets a new
// one that watches nothing. Threads: every function can be called from any thread. The functions that change what is
// watched have their own lock, under which no device is called.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "device/watcher.h"
#include "kymo/profiler.h"
#include "profiler/entries.h"
#include "profiler/report.h"
#include "profiler/scope.h"

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

  // The arguments of start(), set_signposts() and set_log(), as in masks.h.
  bool start(uint32_t mask);  // false: it runs already
  void stop() noexcept;
  bool is_running() const noexcept { return started_.load(std::memory_order_relaxed) != 0; }
  void set_signposts(uint32_t mask);
  void set_log(uint32_t mask);
  uint32_t log() const noexcept { return log_.load(std::memory_order_relaxed); }

  // For the scopes of kymo/profiler.h. Null for a named operation that is not watched.
  Scope* open_scope(std::string_view name, std::initializer_list<const device::Tensor*> tensors, double flops);
  void finish(Scope& scope) noexcept;  // everything in it has ended
  Entries& entries() { return entries_; }

  // For the executions that were reported so far.
  Statistics statistics() const;
  void reset_statistics() noexcept;

  // Waits, at most five seconds, until queued work has run and is reported. Then prints the tables that the log asks
  // for. Prints once per process; other callers wait until the first one has printed.
  void print_at_end() noexcept;

 private:
  struct Note {  // for an execution that needs more than a number
    Entry* entry = nullptr;
    uint64_t run = 0;
    ReportOptions report;
    Scope* scope = nullptr;
    std::string key;
  };

  Entry& entry_of(const device::StreamState& stream, const device::Operation& operation);
  uint64_t queued_with_note(const device::StreamState& stream, const device::Operation& operation, Entry* entry,
                            uint64_t run, const ReportOptions& report, Scope* scope);
  void over(const device::StreamState& stream, const device::Operation& operation, uint64_t execution,
            const device::OperationTimes* times) noexcept;
  void apply();

  Entries entries_;
  std::array<Entry*, 3> copies_{};  // by direction
  std::atomic<uint32_t> wanted_{0};
  std::atomic<uint64_t> lost_{0};

  std::mutex mutex_;  // held to change what is watched
  std::atomic<uint32_t> started_{0}, log_{0};
  uint32_t signposts_ = 0;

  std::once_flag printed_;
};

// The profiler of this process. Never destroyed.
Profiler& the_profiler();
// The same, but null if it was not used yet.
Profiler* the_profiler_or_null() noexcept;

}  // namespace kymo::profiler
