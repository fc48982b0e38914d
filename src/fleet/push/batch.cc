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
    with_retries([&] { store_->prepare(); });
  } catch (const TryAgain&) {
    throw;
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  is_prepared_ = true;
}

KnownTraces PatientStore::known(const std::vector<uint64_t>& traces) {
  // A statement has each number several times, and servers limit its length.
  constexpr size_t kTracesOfQuestion = 256;
  KnownTraces all;
  for (size_t at = 0; at < traces.size(); at += kTracesOfQuestion) {
    const auto begin = traces.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kTracesOfQuestion, traces.size() - at));
    KnownTraces found;
    with_retries([&] { found = store_->known({begin, end}); });
    all.merge(found);
  }
  return all;
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
  traces_.push_back({is_last, file});
}

void Batch::flush() {
  if (traces_.empty()) return;
  uint64_t attempt = 0;
  store_.with_retries([&] {
    attempt = store_.next_attempt();
    for (const Block* block : blocks_.of_traces())
      if (block->rows() > 0) store_->insert(*block, attempt);
  });
  // A mark may be there twice: that has no effect.
  store_.with_retries([&] { store_->insert(blocks_.traces, attempt); });
  counts_.traces += traces_.size();
  counts_.rows += blocks_.rows();
  const std::vector<PushedTrace> pushed = std::move(traces_);
  drop();
  on_pushed_(pushed);
}

}  // namespace kymo::push
