#include "push/batch.h"

#include <utility>

#include "push/event_rows.h"
#include "push/tables.h"

namespace kymo::push {
namespace {

constexpr size_t kBytesOfBatch = 64 << 20;

}  // namespace

Batch::Batch(PatientStore& store, Pusher::Counts& counts, OnPushed on_pushed)
    : store_(store), counts_(counts), on_pushed_(std::move(on_pushed)) {}

bool Batch::is_full() const { return blocks_.bytes() >= kBytesOfBatch; }

void Batch::drop() {
  traces_.clear();
  blocks_.clear();
}

void Batch::add(const TraceToPush& trace, const std::shared_ptr<FileOutcome>& file, bool is_last) {
  if (std::exchange(month_, trace.month) != trace.month) flush();
  blocks_.append(trace.rows);
  traces_.push_back({trace.rank->number, trace.was_damaged, is_last, file});
}

void Batch::insert_rows(uint64_t attempt) {
  for (const Block* block : blocks_.of_traces())
    if (block->rows() > 0) store_->insert(*block, attempt);
}

// A mark may be there twice: that has no effect.
void Batch::insert_marks(uint64_t attempt) {
  store_.with_retries([&] { store_->insert(blocks_.traces, attempt); });
  counts_.traces += traces_.size();
  counts_.rows += blocks_.rows();
  const std::vector<PushedTrace> pushed = std::move(traces_);
  drop();
  on_pushed_(pushed);
}

void Batch::flush() {
  if (traces_.empty()) return;
  uint64_t attempt = 0;
  store_.with_retries([&] {
    attempt = store_.next_attempt();
    insert_rows(attempt);
    store_->insert(blocks_.row_counts, attempt);
  });
  insert_marks(attempt);
}

bool Batch::flush_with_events(trace::Reader& reader, std::span<const TraceToPush> traces,
                              const std::function<bool()>& has_changed) {
  uint64_t attempt = 0, rows = 0;
  store_.with_retries([&] {
    attempt = store_.next_attempt();
    insert_rows(attempt);
    rows = 0;
    Block row_counts = blocks_.row_counts;
    const auto sink = store_->events(attempt);
    for (const TraceToPush& trace : traces) {
      reader.show_only(trace.rank->processes);
      const uint64_t of_trace = add_events(reader, trace.head, [&](const Block& block) { sink->add(block); });
      add_row_count(row_counts, trace.head, kEvents, of_trace);
      rows += of_trace;
    }
    sink->finish();
    store_->insert(row_counts, attempt);
  });
  if (has_changed()) return drop(), false;
  counts_.events += rows;
  insert_marks(attempt);
  return true;
}

}  // namespace kymo::push
