#include "analyze/decode_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "kymo/error.h"

namespace kymo::analyze {

namespace {
constexpr size_t kChunksAheadPerThread = 2;
}

// One consumer cannot use more than a few.
unsigned DecodeAhead::usual_helpers() { return std::clamp(std::thread::hardware_concurrency(), 1u, 6u) - 1; }

DecodeAhead::DecodeAhead(const std::vector<trace::EventChunk>& chunks, Decode decode, unsigned helpers)
    : chunks_(chunks), decode_(std::move(decode)), slots_(kChunksAheadPerThread * (helpers + 1)) {
  try {
    for (unsigned i = 0; i < helpers && i + 1 < chunks.size(); ++i) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // The system gives no more threads. Fewer are enough, because the consumer decodes the chunks that no helper takes.
  }
}

DecodeAhead::~DecodeAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  may_have_work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

const DecodeAhead::Item* DecodeAhead::next() {
  std::unique_lock lock(mutex_);
  if (next_ > consumed_) {
    consumed_ = next_;
    may_have_work_.notify_one();
  }
  if (next_ == chunks_.size()) return nullptr;

  Slot& slot = slot_of(next_);
  while (claimed_ <= next_ || !slot.ready) {
    if (may_claim()) {
      decode_one(lock);
    } else {
      became_ready_.wait(lock);
    }
  }
  ++next_;
  if (slot.failure) std::rethrow_exception(slot.failure);
  return &slot.item;
}

// Claims the next chunk. Decodes it without holding the lock.
void DecodeAhead::decode_one(std::unique_lock<std::mutex>& lock) {
  const trace::EventChunk& chunk = chunks_[claimed_];
  Slot& slot = slot_of(claimed_);
  ++claimed_;
  slot.ready = false;
  lock.unlock();

  slot.item.chunk = &chunk;
  slot.item.error.clear();
  slot.failure = nullptr;
  try {
    decode_(chunk, slot.item.batch);
  } catch (const Error& error) {
    slot.item.error = error.what();
  } catch (...) {
    slot.failure = std::current_exception();
  }

  lock.lock();
  slot.ready = true;
  became_ready_.notify_one();
}

void DecodeAhead::help() {
  std::unique_lock lock(mutex_);
  while (true) {
    may_have_work_.wait(lock, [this] { return stopping_ || may_claim(); });
    if (stopping_) return;
    decode_one(lock);
  }
}

}  // namespace kymo::analyze
