// Where rows are pushed to: the tables of a ClickHouse server (clickhouse_store.h), or a folder of Parquet files
// (questions/parquet_store.h).
//
// Every row has its trace and the attempt that wrote it, and the row in `traces` is written last (tables.h). So an
// insert need not be atomic, and one whose outcome is not known is repeated with another attempt. One thread uses a
// store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kymo/error.h"
#include "push/tables.h"

namespace kymo::push {

// The number of an attempt to push a trace. Time-ordered and random: the newest attempt of a trace is the largest. It
// is larger than `after`, even if the clock was set back since.
uint64_t new_attempt(uint64_t after = 0);

// The store could not do it now: not reachable, restarted, too many parts, no memory, disk full. It may succeed later.
// Whether an insert was done is not known.
class TryAgain : public Error {
 public:
  using Error::Error;
};

// The store is not a place for these rows, and will not become one by itself: it has other tables, or is of another
// version of Kymo.
class Refused : public Error {
 public:
  using Error::Error;
};

// A trace that a store has.
struct KnownTrace {
  std::string job;
  bool is_damaged = false;  // parts of its file could not be read when it was pushed
};
using KnownTraces = std::map<uint64_t, KnownTrace>;

// All functions throw TryAgain, or kymo::Error for what does not change by itself.
class Store {
 public:
  virtual ~Store() = default;

  // Creates the tables if there are none. Throws what is not TryAgain if they are of another version of Kymo.
  virtual void prepare() = 0;

  // Those of these traces that it has.
  virtual KnownTraces known(const std::vector<uint64_t>& traces) = 0;

  virtual void insert(const Block& block, uint64_t attempt) = 0;
};

// Throws kymo::Error if `version` is another one than kSchemaVersion. `place` is for the message.
void refuse_other_version(uint64_t version, const std::string& place);

}  // namespace kymo::push
