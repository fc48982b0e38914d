#include "push/batch.h"

#include <thread>
#include <utility>

#include "push/tables.h"
#include "push/trace_rows.h"

namespace kymo::push {

PatientStore::PatientStore(std::unique_ptr<Store> store, const PushOptions& options, Pusher::Warn warn)
    : store_(std::move(store)), options_(options), warn_(std::move(warn)) {}

void PatientStore::before_retry(const TryAgain& problem, int left, std::chrono::milliseconds wait) {
  if (left <= 0) throw TryAgain(base::format("{}; gave up after {} retries", problem.what(), options_.retries));
  if (warn_) warn_(base::format("{}; next try in {} ms", problem.what(), wait.count()));
  ++retries_;
}

void PatientStore::wait_for(std::chrono::milliseconds time) {
  if (!options_.wait)
    std::this_thread::sleep_for(time);
  else if (!options_.wait(time))
    throw Error("interrupted");
}

void PatientStore::prepare() {
  if (is_prepared_) return;
  try {
    with_retries([&] {
      if (store_->prepare() && options_.on_new_tables) options_.on_new_tables();
    });
  } catch (const TryAgain&) {
    throw;
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  is_prepared_ = true;
}

template <typename Ask>
std::map<uint64_t, KnownTrace> PatientStore::in_parts(const std::vector<uint64_t>& traces, Ask&& ask) {
  // A statement that reads their rows has each number several times, and servers limit its length.
  constexpr size_t kTracesOfQuestion = 256;
  std::map<uint64_t, KnownTrace> all;
  for (size_t at = 0; at < traces.size(); at += kTracesOfQuestion) {
    const auto begin = traces.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kTracesOfQuestion, traces.size() - at));
    std::map<uint64_t, KnownTrace> found;
    with_retries([&] { found = ask(std::vector<uint64_t>(begin, end)); });
    all.merge(found);
  }
  for (const auto& [number, trace] : all) newest_ = std::max(newest_, trace.attempt);
  return all;
}

std::map<uint64_t, KnownTrace> PatientStore::known(const std::vector<uint64_t>& traces) {
  return in_parts(traces, [&](const std::vector<uint64_t>& some) {
    auto found = store_->known(some);
    store_->check_rows(found);
    return found;
  });
}

std::map<uint64_t, KnownTrace> PatientStore::marked(const std::vector<uint64_t>& traces) {
  return in_parts(traces, [&](const std::vector<uint64_t>& some) { return store_->known(some); });
}

Batch::Batch(PatientStore& store, Pusher::Counts& counts, OnPushed on_pushed)
    : store_(store), counts_(counts), on_pushed_(std::move(on_pushed)) {}

bool Batch::is_full() const {
  constexpr size_t kBytesOfBatch = 64 << 20;
  return blocks_.bytes() >= kBytesOfBatch;
}

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
