// The rows of several traces, which are inserted together: rows first, then their marks.
//
// One thread uses a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "push/patient_store.h"
#include "push/pusher.h"
#include "push/ranks.h"
#include "push/trace_rows.h"
#include "trace/reader.h"

namespace kymo::push {

// A trace of a file that the store does not have, or not like this. Its rows are read from the file.
struct TraceToPush {
  const RankOfFile* rank = nullptr;
  TraceLabels labels;
  bool is_relabelled = false;  // it is there with another job or rank
  bool was_damaged = false;    // the store could not read its rows before
  RowHead head{};
  SummaryBlocks rows{};
  uint32_t month = 0;
};

// A trace that the store has now. Its file is reported after the last one of its traces.
struct PushedTrace {
  uint64_t number = 0;
  bool was_damaged = false;
  bool is_last = false;
  std::shared_ptr<FileOutcome> file;
};

class Batch {
 public:
  using OnPushed = std::function<void(const std::vector<PushedTrace>&)>;

  // `counts` gets what is pushed. Both references must outlive the batch.
  Batch(PatientStore& store, Pusher::Counts& counts, OnPushed on_pushed);

  // Inserts what is there if it is of another month: the rows of one insert should have one.
  void add(const TraceToPush& trace, const std::shared_ptr<FileOutcome>& file, bool is_last);

  bool is_full() const;

  // Inserts the rows and then the marks. Throws TryAgain after the last retry, or what else the store throws.
  void flush();

  // The same with the events of these traces, which are all that is in the batch. Events are too many to keep: a new
  // attempt reads them again. False, and no marks, if `has_changed` says so after they were read.
  bool flush_with_events(trace::Reader& reader, std::span<const TraceToPush> traces,
                         const std::function<bool()>& has_changed);

  void drop();

 private:
  void insert_rows(uint64_t attempt);
  void insert_marks(uint64_t attempt);

  PatientStore& store_;
  Pusher::Counts& counts_;
  OnPushed on_pushed_;
  SummaryBlocks blocks_;
  std::vector<PushedTrace> traces_;
  uint32_t month_ = 0;
};

}  // namespace kymo::push
