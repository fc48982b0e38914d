// kymo/profiler.h: what is watched.

#include "base/text.h"
#include "device/watcher.h"
#include "kymo/profiler.h"
#include "signpost/ending.h"
#include "signpost/interrupt.h"
#include "signpost/masks.h"
#include "signpost/profiler.h"

namespace kymo::signpost {

// Under mutex_.
void Profiler::apply() {
  const Wanted now = Wanted::from(signposts_, started_.load(), log_.load());
  wanted_.store(now.bits(), std::memory_order_relaxed);
  if (now.bits() != 0) watch_forks();
  // What was queued before is told all the same: the runtime remembers whom it told of the beginning.
  device::set_watcher(device::WatcherRole::Profiler, now.needs_devices() ? this : nullptr);
}

bool Profiler::start(uint32_t mask) {
  std::lock_guard lock(mutex_);
  if (started_.load() != 0) return false;
  started_ = mask;
  apply();
  return true;
}

void Profiler::stop() noexcept {
  std::lock_guard lock(mutex_);
  if (started_.exchange(0) != 0) apply();
}

void Profiler::set_signposts(uint32_t mask) {
  std::lock_guard lock(mutex_);
  signposts_ = mask;
  apply();
}

void Profiler::set_log(uint32_t mask) {
  std::lock_guard lock(mutex_);
  const bool prints = (mask & kAllStatistics) != 0;
  if (prints && (log_.load() & kAllStatistics) == 0) print_at_exit();
  log_ = mask;
  apply();
  watch_interrupts(prints);
}

}  // namespace kymo::signpost

namespace kymo::profiler {

using signpost::the_profiler;
using signpost::the_profiler_or_null;

void start(std::string_view mode, bool wait_until_completed) {
  const uint32_t mask = signpost::parse_mode(mode) | (wait_until_completed ? signpost::kWait : 0);
  if (!the_profiler().start(mask))
    throw Error(base::format("the profiler runs already: stop() it before it is started as \"{}\"", mode));
}

void stop() noexcept {
  if (signpost::Profiler* profiler = the_profiler_or_null()) profiler->stop();
}

bool is_running() noexcept {
  const signpost::Profiler* profiler = the_profiler_or_null();
  return profiler != nullptr && profiler->is_running();
}

void set_signposts(std::string_view mask) { the_profiler().set_signposts(signpost::parse_signposts(mask)); }
void set_log(std::string_view mask) { the_profiler().set_log(signpost::parse_log(mask)); }

}  // namespace kymo::profiler
