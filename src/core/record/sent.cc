#include "record/sent.h"

#include <sys/mman.h>

#include "record/name_cache.h"
#include "record/sinks.h"

namespace kymo::record {

// The count first: the ranges of a signal handler are added above ours, and are removed when it returns.
void Sent::add(int depth, SinkMask sinks, bool scope) noexcept {
  const uint32_t index = count_++;
  order_for_signals();
  entries_[index] = {depth, sinks, scope};
}

// Usually this is the last entry. The others move down if a program ends its ranges in another order.
SinkMask Sent::take(uint32_t index) noexcept {
  const SinkMask sinks = entries_[index].sinks;
  for (uint32_t i = index; i + 1 < count_; ++i) entries_[i] = entries_[i + 1];
  order_for_signals();
  --count_;
  return sinks;
}

SinkMask Sent::pop(int depth) noexcept {
  for (uint32_t i = count_; i > 0; --i)
    if (!entries_[i - 1].scope && entries_[i - 1].depth == depth) return take(i - 1);
  return 0;
}

SinkMask Sent::end_scope() noexcept {
  if (skipped_scopes_ > 0) {
    --skipped_scopes_;
    return 0;
  }
  for (uint32_t i = count_; i > 0; --i)
    if (entries_[i - 1].scope) return take(i - 1);
  return 0;
}

bool Sent::pop_stale(int depth, SinkMask& sinks) noexcept {
  if (count_ == 0) return false;
  const Entry& last = entries_[count_ - 1];
  if (last.scope || last.depth < depth) return false;
  sinks = take(count_ - 1);
  return true;
}

Sent* sent_by_this_thread(Process& shared, bool make) noexcept {
  auto* sent = static_cast<Sent*>(pthread_getspecific(shared.sent_key));
  if (sent != nullptr || !make) return sent;
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  pthread_setspecific(shared.sent_key, memory);
  return static_cast<Sent*>(memory);
}

void release_sent(void* sent) noexcept { munmap(sent, kPage); }

void leave_parents_sinks(Process& shared) noexcept {
  shared.sinks_lock.store(0, std::memory_order_relaxed);
  shared.first_number = shared.next_handle.load(std::memory_order_relaxed);
  if (Sent* sent = sent_by_this_thread(shared, false)) sent->forget();
}

}  // namespace kymo::record
