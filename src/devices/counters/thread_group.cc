#include "counters/thread_group.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>

#include "base/text.h"
#include "counters/perf_event.h"
#include "kymo/error.h"

namespace kymo::counters {

namespace {

std::atomic<uint32_t> forks_seen{0};

// A child process inherits its parent's files, which continue to count the parent's thread.
void notice_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks_seen.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

// The format in which the kernel returns a group.
struct GroupRecord {
  uint64_t count, enabled_ns, running_ns;
  std::array<uint64_t, kMaxEvents> values;
};

}  // namespace

Count difference(const Reading& begin, const Reading& end, size_t event) noexcept {
  if (event >= kMaxEvents || end.running_ns == 0 || end.running_ns < begin.running_ns ||
      end.enabled_ns < begin.enabled_ns || end.values[event] < begin.values[event])
    return {};
  const uint64_t enabled = end.enabled_ns - begin.enabled_ns, running = end.running_ns - begin.running_ns;
  const auto counted = static_cast<double>(end.values[event] - begin.values[event]);
  if (running >= enabled) return {counted, false, true};  // also if no time passed
  if (running == 0) return {};
  return {counted * static_cast<double>(enabled) / static_cast<double>(running), true, true};
}

ThreadGroup::ThreadGroup(std::span<const Event> events) {
  if (events.empty() || events.size() > kMaxEvents)
    throw InvalidArgument(base::format("{} performance events: a group has from 1 to {}", events.size(), kMaxEvents));
  notice_forks();
  forks_ = forks_seen.load(std::memory_order_relaxed);

  // The processor's events come first: one of them has to lead the events that the kernel counts, not the other way
  // round.
  std::iota(positions_.begin(), positions_.end(), uint8_t{0});
  std::stable_partition(positions_.begin(), positions_.begin() + static_cast<ptrdiff_t>(events.size()),
                        [&](uint8_t position) { return is_hardware(events[position]); });
  files_.reserve(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[positions_[i]];
    const int file = open_event(event, files_.empty() ? -1 : files_.front());
    if (file < 0) {
      close_all();
      // An event that is refused only as a member of a group is one too many for the processor, or of another kind.
      if (i > 0 && -file == EINVAL && try_event(event) == 0)
        throw NotAvailable(
            base::format("performance event \"{}\" cannot be counted together with the {} before it: the "
                         "processor has too few counters for all; ask for fewer",
                         event.name, i));
      throw NotAvailable(
          base::format("performance event \"{}\" cannot be counted: {}", event.name, refusal(event, -file)));
    }
    files_.push_back(file);
  }
  if (ioctl(files_.front(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    const int error = errno;
    close_all();
    throw NotAvailable(base::format("performance event \"{}\" cannot be counted: {}", events[positions_[0]].name,
                                    refusal(events[positions_[0]], error)));
  }
}

ThreadGroup::~ThreadGroup() { close_all(); }

void ThreadGroup::close_all() noexcept {
  for (const int file : files_) close(file);
  files_.clear();
}

void ThreadGroup::read(Reading& into) noexcept {
  GroupRecord record;
  const size_t size = offsetof(GroupRecord, values) + files_.size() * sizeof(uint64_t);
  if (forks_ != forks_seen.load(std::memory_order_relaxed) ||
      ::read(files_.front(), &record, sizeof record) != static_cast<ssize_t>(size) || record.count != files_.size()) {
    into = {};
    return;
  }
  into.enabled_ns = record.enabled_ns;
  into.running_ns = record.running_ns;
  for (size_t i = 0; i < files_.size(); ++i) into.values[positions_[i]] = record.values[i];
}

}  // namespace kymo::counters
