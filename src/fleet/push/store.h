// Where rows are pushed to: the tables of a ClickHouse server (clickhouse_store.h), or a folder of Parquet files
// (questions/parquet_store.h).
//
// Every row has its trace and the attempt that wrote it, and the row in `traces` is written last (tables.h). So an
// insert need not be atomic, and one whose outcome is not known is repeated with another attempt. One thread uses a
// store.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kymo/error.h"
#include "push/tables.h"

namespace kymo::push {

// The number of an attempt to push a trace. Time-ordered and random: the newest attempt of a trace is the largest. It
// is larger than `after`, even if the clock was set back since.
uint64_t new_attempt(uint64_t after = 0);

// Attempts that began before this time are smaller.
uint64_t attempt_of(std::chrono::system_clock::time_point time);

// A push writes the mark right after the counts of rows. Attempts before this one that have counts and no mark were
// interrupted, or their mark was lost: they are older than ten minutes, and with the usual number of retries no push
// takes that long for a mark.
uint64_t unmarked_before();

// The store could not do it now: not reachable, restarted, too many parts, no memory, disk full. It may succeed later.
// Whether an insert was done is not known.
class TryAgain : public Error {
 public:
  using Error::Error;
};

// The store is not a place for these rows, and will not become one by itself: it has other tables, or is of a newer
// version of Kymo.
class Refused : public Error {
 public:
  using Error::Error;
};

// A trace that a store has.
struct KnownTrace {
  bool has_events = false;
  std::string job;
  int64_t rank = -1;
  uint64_t attempt = 0;     // that wrote it
  uint64_t started = 0;     // seconds since 1970
  bool is_damaged = false;  // parts of its file could not be read when it was pushed
  // Set by Store::check_rows().
  bool lost_rows = false;  // the mark is there, and rows that it stands for are not, or are not known to be
  std::string damage{};    // why its rows cannot be read, for people; empty: they can, or there is nothing to say
};

using Content = std::map<std::string, uint64_t>;  // by name; a name that is missing stands for 0

// Takes the events of one trace. What was added without finish() is dropped, or does not count.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void add(const Block& block) = 0;
  virtual void finish() = 0;
};

// All functions throw TryAgain, or kymo::Error for what does not change by itself.
class Store {
 public:
  virtual ~Store() = default;

  // For messages.
  virtual std::string text() const = 0;

  // Creates the tables, or checks that they are these: throws what is not TryAgain if a table has other columns, or is
  // of a newer version of Kymo. True if it created one: what was in it before is lost.
  virtual bool prepare() = 0;

  // Those of these traces that have a mark. Their rows are not looked at.
  virtual std::map<uint64_t, KnownTrace> known(const std::vector<uint64_t>& traces) = 0;

  // Reads all rows and columns of these traces, as known() returned them: a store may have rows that it cannot give
  // back. Sets `lost_rows` and `damage`. If a later attempt has no mark (unmarked_before()), rows are lost too, and
  // what was given for it replaces the attempt, job, rank and events.
  virtual void check_rows(std::map<uint64_t, KnownTrace>& traces) = 0;

  virtual void insert(const Block& block, uint64_t attempt) = 0;
  virtual std::unique_ptr<EventSink> events(uint64_t attempt) = 0;

  // What it holds now, by table or by file. Cheap: no rows are read.
  virtual Content content() = 0;

  // Deletes the rows of attempts before this one that were not completed, or that a later one replaced. Returns how
  // many attempts those were.
  virtual uint64_t remove_orphans(uint64_t before) = 0;

  // Deletes a trace. False if it is not there. What is pushed meanwhile stays.
  virtual bool remove(uint64_t trace) = 0;
};

// Notices that a store has less than before.
//
// It compares how much there is of each thing: rows of a table, files. Something is lost when it has become less, and
// nothing becomes even less: what removes it has ended. Losses that others fill up at the same time are not seen.
class LossDetector {
 public:
  // True once for each loss since the first call. The first call only remembers.
  bool look(const Content& now);

 private:
  Content most_, last_;
};

}  // namespace kymo::push
