#include "counters/thread_group.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/text.h"
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

// Opens a file that counts `event` for the calling thread, as a member of `leader`'s group. If `leader` is -1, it leads
// a new group, which counts once it is enabled. Negative: the negated error.
int open_event(const Event& event, int leader) noexcept {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.config1 = event.config1;
  attributes.config2 = event.config2;
  attributes.exclude_kernel = event.exclude_kernel;
  attributes.exclude_user = event.exclude_user;
  attributes.exclude_hv = 1;
  attributes.disabled = leader < 0;
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int kThisThread = 0, kAnyProcessor = -1;
  const long file = syscall(SYS_perf_event_open, &attributes, kThisThread, kAnyProcessor, leader, PERF_FLAG_FD_CLOEXEC);
  return file < 0 ? -errno : static_cast<int>(file);
}

// True if the CPU counts it, which has few counters. False if the kernel counts it, which has no limit.
bool is_hardware(const Event& event) noexcept {
  return event.type != PERF_TYPE_SOFTWARE && event.type != PERF_TYPE_TRACEPOINT && event.type != PERF_TYPE_BREAKPOINT;
}

std::optional<long> perf_event_paranoid() {
  const int file = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[32] = {};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return std::nullopt;
  return std::strtol(text, nullptr, 10);
}

// If even cycles are unsupported, there are no counters at all.
bool has_processor_counters() noexcept {
  Event cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  const int error = try_event(cycles);
  return error != ENOENT && error != ENODEV && error != EOPNOTSUPP;
}

std::string forbidden(const Event& event) {
  const auto paranoid = perf_event_paranoid();
  if (!paranoid) return "the kernel was built without performance events (there is no kernel.perf_event_paranoid)";
  if (event.type == PERF_TYPE_TRACEPOINT)
    return base::format("tracepoints need root, or kernel.perf_event_paranoid=-1, which is {}", *paranoid);
  const int wanted = event.exclude_kernel ? 2 : 1;
  if (*paranoid > wanted)
    return base::format(
        "kernel.perf_event_paranoid is {}, and {} needs {} or less: sudo sysctl "
        "kernel.perf_event_paranoid={}, or CAP_PERFMON",
        *paranoid, event.exclude_kernel ? "this" : "what happens inside the kernel", wanted, wanted);
  return "perf_event_open is forbidden here, as by the seccomp profile of a container: allow it, or run outside";
}

}  // namespace

int try_event(const Event& event) noexcept {
  const int file = open_event(event, -1);
  if (file < 0) return -file;
  close(file);
  return 0;
}

std::string refusal(const Event& event, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return forbidden(event);
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
      if (!is_hardware(event)) return "this kernel does not count it";
      return has_processor_counters() ? "the processor does not count it"
                                      : "this machine has no performance counters; a virtual machine often hides them";
    case EINVAL:
      return "the kernel does not count it for a single thread, or not in this form";
    case EBUSY:
      return "another program has the processor's counters for itself";
    case ENOSYS:
      return "the kernel was built without performance events";
    case EMFILE: {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      return base::format(
          "the process has as many files open as it may ({}); each thread takes one an event: raise it by "
          "`ulimit -n`, or ask for fewer events",
          limit.rlim_cur);
    }
    case ENFILE:
      return "the system has as many files open as it may: raise fs.file-max";
    default:
      return std::strerror(error);
  }
}

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
