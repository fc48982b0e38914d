// kymo/profiler.h: the functions that set what is watched.

#include "base/text.h"
#include "device/watcher.h"
#include "kymo/profiler.h"
#include "profiler/exit_handlers.h"
#include "profiler/interrupt.h"
#include "profiler/masks.h"
#include "profiler/profiler.h"

namespace kymo::profiler {

// The caller holds mutex_.
void Profiler::apply() {
  const Wanted now = Wanted::from(signposts_, started_.load(), log_.load());
  wanted_.store(now.bits(), std::memory_order_relaxed);
  if (now.bits() != 0) watch_forks();
  // Operations that were queued before are still reported: the runtime remembers which watchers received their begin.
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

}  // namespace kymo::profiler

namespace kymo::profiler {

using profiler::the_profiler;
using profiler::the_profiler_or_null;

void start(std::string_view mode, bool wait_until_completed) {
  const uint32_t mask = profiler::parse_mode(mode) | (wait_until_completed ? profiler::kWait : 0);
  if (!the_profiler().start(mask))
    throw Error(base::format("the profiler runs already: call stop() before you start it as \"{}\"", mode));
}

void stop() noexcept {
  if (profiler::Profiler* profiler = the_profiler_or_null()) profiler->stop();
}

bool is_running() noexcept {
  const profiler::Profiler* profiler = the_profiler_or_null();
  return profiler != nullptr && profiler->is_running();
}

void set_signposts(std::string_view mask) { the_profiler().set_signposts(profiler::parse_signposts(mask)); }
void set_log(std::string_view mask) { the_profiler().set_log(profiler::parse_log(mask)); }

}  // namespace kymo::profiler
