// Where rows are pushed to: the tables of a ClickHouse server (clickhouse.h), or a folder of Parquet files
// (questions/parquet_store.h). One thread uses a store.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kymo/error.h"
#include "push/tables.h"

namespace kymo::push {

// The number of an attempt to push traces: random, and later ones are larger.
uint64_t new_attempt();

// Rows of traces, a block for each table.
struct SummaryBlocks {
  Block iterations{kIterations}, operations{kOperations}, device_time{kDeviceTime}, waits{kWaits};
  Block traces{kTraces};

  // `traces` is the last one: what it names is there.
  std::array<const Block*, 5> all() const { return {&iterations, &operations, &device_time, &waits, &traces}; }
  size_t bytes() const;
  size_t rows() const;  // without those of `traces`
  void append(const SummaryBlocks& other);
};

// The store could not do it now: not reachable, restarted, too many parts, no memory, disk full. It may succeed later.
// Whether an insert was done is not known.
class TryAgain : public Error {
 public:
  using Error::Error;
};

// The store is not a place for these rows, such as one of another version: to try again does not help.
class Refused : public Error {
 public:
  using Error::Error;
};

// The traces that a store has, and whether parts of their files could not be read when they were pushed.
using KnownTraces = std::map<uint64_t, bool>;

// What a store answers to a statement. The bytes are untrusted.
struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each has a cell for each column
};

// All functions throw TryAgain, or kymo::Error for what does not change by itself.
class Store {
 public:
  virtual ~Store() = default;

  // Creates the tables if there are none. Throws what is not TryAgain if they are of another version of Kymo.
  virtual void prepare() = 0;

  // Of its tables; 0: it has none.
  virtual uint64_t version() = 0;

  // The rows of a statement.
  virtual Rows ask(const std::string& statement) = 0;

  // Those of these traces that it has, which began from `from` to `to`, in seconds since 1970: a server looks only at
  // the days of that time.
  virtual KnownTraces known(const std::vector<uint64_t>& traces, uint32_t from, uint32_t to) = 0;

  // Adds the rows of traces that began on one day (since 1970): all of them, or nothing that counts. If the outcome is
  // not known it may be repeated: a trace counts once.
  virtual void publish(const SummaryBlocks& rows, uint32_t day) = 0;

  // After a push: removes what unfinished ones left, and joins what many small ones wrote.
  virtual void tidy() {}

 protected:
  // known() by a statement.
  KnownTraces ask_known(const std::string& table, const std::vector<uint64_t>& traces, uint32_t from, uint32_t to);
};

// Throws kymo::Error if `version` is another one than kSchemaVersion. `place` is for the message.
void refuse_other_version(uint64_t version, const std::string& place);

}  // namespace kymo::push
