// Pushes traces into a store, each of them once. A file may have several: one for each rank, and for each process of a
// rank that has iterations of its own (ranks.h).
//
// The rows of several traces are inserted together, then their marks in `traces`. If the store does not answer, or
// refuses for the moment, the same rows are sent again as a new attempt: rows of an attempt without a mark do not
// count. A trace whose content the store already has is skipped, so a push that was interrupted continues where it
// stopped. If another job or rank is given for it, or events that the store does not have, a new attempt replaces its
// rows. The same if the store lost some of its rows, or cannot read them: all of them are read before a trace counts as
// one that the store has. What is not given, job or rank, then stays as the store has it.
//
// The number of a trace is a hash of its file, which is taken before its rows are read, and of its rank and process if
// the file has several. So a file must be the same one, with the same times, after its last row was read: otherwise
// none of its traces gets a mark. (Traces of one file with events that begin in different months get theirs one month
// after the other.) Older versions stored some of them as one trace: it is removed before they get their marks.
//
// If another push gives the same traces another job or rank at the same time, the one that ends last gives its own to
// all of them.
//
// One thread uses a pusher. Memory: the rows of one batch and of all ranks of one file, or two blocks of events.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "push/store.h"
#include "push/trace_rows.h"
#include "trace/reader.h"

namespace kymo::push {

struct PushOptions {
  bool events = false;  // every event, and not only the summaries
  std::string job;      // for all of them; empty: what the traces say
  int64_t rank = -1;
  int retries = 8;
  std::chrono::milliseconds first_wait{200}, longest_wait{10'000};
  size_t traces_of_batch = 64;
  // Asked for a trace whose end is missing, or that is damaged: true if the rest of its file may still be copied. Such
  // a trace is not pushed. Empty: never.
  std::function<bool(const std::string& file)> may_still_arrive;
  // Called when tables were created. What was pushed before may be lost.
  std::function<void()> on_new_tables;
  // Waits before the next try; false: the user wants to end. Empty: sleeps.
  std::function<bool(std::chrono::milliseconds)> wait;
};

enum class Outcome : uint8_t {
  Pushed,
  AlreadyThere,  // the store has all its traces, and has just read all of their rows
  StillRecording,
  StillArriving,
  Unreadable,
  Changed,  // somebody wrote to the file while it was read, or replaced it: nothing of it is pushed
  NotKept,  // it was pushed again because the store cannot read its rows, and still cannot; it is not tried again
};

struct FileOutcome {
  std::string file;
  Outcome outcome = Outcome::Pushed;
  std::string reason;                      // why it is Unreadable or NotKept
  bool is_damaged = false;                 // Pushed or AlreadyThere: only those parts of the file that can be read
  bool lacks_end = false;                  // the same: the rest of the file may still come
  uint64_t pushed = 0, already_there = 0;  // of its traces
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

  Pusher(std::unique_ptr<Store> store, PushOptions options, Open open, Report report, Warn warn);
  ~Pusher();

  // Store::prepare(), once. Called by push() when it has read the first traces. Throws as push().
  void prepare();

  // Throws Refused, TryAgain after the last retry, or another kymo::Error that the store has. What was reported as
  // pushed stays. After an error the next call prepares the store again: its tables may be gone.
  void push(const std::vector<std::string>& given);

  // True if the store has lost something since the last call, or what was pushed since then (LossDetector). What was
  // pushed before must be pushed again then: the store says which of it is really lost. False if the store does not
  // answer.
  bool has_lost_rows();

  // Deletes the rows of attempts that were not completed, or that a later one replaced, if they are older than a day.
  // Returns how many attempts those were.
  uint64_t remove_orphans();

  // Deletes a trace from the store, by the number of its content. False if it is not there. Throws as push().
  bool remove(uint64_t trace);

  struct Counts {
    uint64_t traces = 0, rows = 0, events = 0, retries = 0;
    uint64_t relabelled = 0;  // of the traces: those that were there with another job or rank
  };
  const Counts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::push
