// Pushes traces into a store, each of them once. A file may have several: one for each rank, and for each process of a
// rank that has iterations of its own (ranks.h).
//
// The rows of several traces are published together. If the store does not answer, or refuses for the moment, they are
// published again. A trace whose content the store already has is skipped, so a push that was interrupted continues
// where it stopped.
//
// The number of a trace is a hash of its file, which is taken before its rows are read, and of its rank and process if
// the file has several. So a file must be the same one, with the same times, after its last row was read: otherwise
// none of its traces is pushed.
//
// One thread uses a pusher. Memory: the rows of one batch and of all ranks of one file, and a few files that are open.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "push/store.h"
#include "push/trace_rows.h"
#include "trace/reader.h"

namespace kymo::push {

struct PushOptions {
  std::string job;  // for all of them; empty: what the traces say
  int retries = 8;
  // Asked for a trace whose end is missing, or that is damaged: true if the rest of its file may still be copied. Such
  // a trace is not pushed. Empty: never.
  std::function<bool(const std::string& file)> may_still_arrive;
  // Waits before the next try; false: the user wants to end. Empty: sleeps.
  std::function<bool(std::chrono::milliseconds)> wait;
};

enum class Outcome : uint8_t {
  Pushed,
  AlreadyThere,  // the store has all its traces
  StillRecording,
  StillArriving,
  Unreadable,
  Changed,  // somebody wrote to the file while it was read, or replaced it: nothing of it is pushed
};

struct FileOutcome {
  std::string file;
  Outcome outcome = Outcome::Pushed;
  std::string reason;                      // why it is Unreadable
  bool is_damaged = false;                 // Pushed or AlreadyThere: only those parts of the file that can be read
  bool lacks_end = false;                  // the same: the rest of the file may still come
  uint64_t pushed = 0, already_there = 0;  // of its traces

  // Why it was not pushed, for people. Empty: it was, or is there already.
  std::string problem() const;
};

class Pusher {
 public:
  // Throws what Reader throws.
  using Open = std::function<trace::Reader(const std::string& path)>;
  // Called once for each file, when the store has it or it cannot be pushed.
  using Report = std::function<void(const FileOutcome&)>;
  // Called before each retry, for a trace that is damaged or whose end or date is missing, and once if a program has a
  // rank that is not a number.
  using Warn = std::function<void(const std::string& text)>;

  Pusher(std::unique_ptr<Store> store, PushOptions options, Open open, Report report, Warn warn)
      : store_(std::move(store)),
        options_(std::move(options)),
        open_(std::move(open)),
        report_(std::move(report)),
        warn_(std::move(warn)) {}

  // Throws TryAgain after the last retry, or another kymo::Error that the store has. What was reported as
  // pushed stays. After an error the next call prepares the store again: its tables may be gone.
  void push(const std::vector<std::string>& files);

  struct Counts {
    uint64_t traces = 0, rows = 0, retries = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct TraceFile;
  struct TraceToPush;

  void prepare();
  void publish();
  void push_some(std::span<const std::string> files);
  void push_file(TraceFile& file);
  void warn_of(const TraceFile& file, const std::vector<TraceToPush>& traces);
  template <typename Read>
  bool can_read(const std::string& file, Read&& read);
  template <typename Action>
  void with_retries(Action&& action);

  const std::unique_ptr<Store> store_;
  const PushOptions options_;
  const Open open_;
  const Report report_;
  const Warn warn_;
  bool is_prepared_ = false, warned_of_rank_ = false;
  Counts counts_;
  KnownTraces there_;  // or in the batch
  // Traces of one day, which are published together, and the files of which they are the last ones.
  SummaryBlocks batch_;
  uint32_t day_ = 0;
  std::vector<std::shared_ptr<FileOutcome>> complete_;
};

}  // namespace kymo::push
