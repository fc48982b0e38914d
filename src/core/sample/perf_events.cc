#include "sample/perf_events.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <queue>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::sample {

namespace {

constexpr size_t kLargestRing = 8 << 20, kSmallestRing = 64 << 10;
constexpr size_t kLeastForLongCopies = 4 << 20;
constexpr size_t kLargestRings = 256 << 20;  // of all processors together
constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

// The numbers of the registers in a sample: frame pointer, return address (only arm64), stack pointer, instruction.
#if defined(__x86_64__)
constexpr uint64_t kRegisters = 1u << 6 | 1u << 7 | 1u << 8;
#elif defined(__aarch64__)
constexpr uint64_t kRegisters = uint64_t{1} << 29 | uint64_t{1} << 30 | uint64_t{1} << 31 | uint64_t{1} << 32;
#else
constexpr uint64_t kRegisters = 0;
#endif

#if defined(__x86_64__)
constexpr bool kReturnsOnStack = true;
#else
constexpr bool kReturnsOnStack = false;
#endif

std::optional<long> paranoid_level() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  long level = 0;
  if (file >> level) return level;
  return std::nullopt;
}

std::string refusal(int error, std::optional<pid_t> pid) {
  constexpr long kNeeded = 2;
  switch (error) {
    case EACCES:
    case EPERM: {
      const auto level = paranoid_level();
      if (level && *level > kNeeded && geteuid() != 0)
        return base::format(
            "kernel.perf_event_paranoid is {}, and sampling needs {} or less: sudo sysctl "
            "kernel.perf_event_paranoid={}, or run kymo as root",
            *level, kNeeded, kNeeded);
      if (pid && geteuid() != 0)
        return base::format("process {} belongs to another user, or protects itself: run kymo as root", *pid);
      return "perf_event_open is forbidden here, as by the seccomp profile of a container: allow it (docker run "
             "--security-opt seccomp=unconfined --cap-add PERFMON), or run kymo outside";
    }
    case ENOSYS:
      return "the system has no perf_event_open: the kernel was built without performance events, or a container hides "
             "them";
    case ENOENT:
    case EOPNOTSUPP:
      return "the kernel has no event for the CPU clock";
    case ESRCH:
      return pid ? base::format("there is no process {}", *pid) : "the thread does not exist";
    case EMFILE:
      return "an event needs a file for each thread and processor, and the process may not open so many: raise the "
             "limit with 'ulimit -n'";
    default:
      return std::strerror(error);
  }
}

[[noreturn]] void refuse(int error, std::optional<pid_t> pid) { throw NotAvailable(refusal(error, pid)); }

int open_event(perf_event_attr& attributes, pid_t thread, int processor) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, processor, -1,
                                  static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
}

size_t ring_bytes(size_t processors) {
  return std::bit_floor(std::clamp(kLargestRings / std::max<size_t>(processors, 1), kSmallestRing, kLargestRing));
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(base::format("/proc/{}/task", pid), gone))
    threads.push_back(static_cast<pid_t>(std::atol(entry.path().filename().c_str())));
  return threads;
}

// A record gets its time a moment before it is in the ring. Newer records than this wait for the next round.
constexpr uint64_t kSettledNs = 1'000'000;

Record damaged_record(uint64_t count) {
  Record record;
  record.kind = RecordKind::Damaged;
  record.lost = count;
  return record;
}

}  // namespace

// What is opened. The kernel refuses some of it, to some users and in some versions: that part is then left out.
struct PerfEvents::Request {
  perf_event_attr attributes{};
  std::optional<pid_t> pid;  // of a running process
  size_t ring = 0;
  EventOptions options;

  explicit Request(const EventOptions& wanted) : options(wanted) {
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = kNanosecondsPerSecond / options.hertz;
    attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    if (kRegisters != 0) {
      attributes.sample_type |= PERF_SAMPLE_REGS_USER;
      attributes.sample_regs_user = kRegisters;
    }
    if (options.stacks == Stacks::Copies && kRegisters != 0) {
      attributes.sample_type |= PERF_SAMPLE_STACK_USER;
      attributes.sample_stack_user = options.hertz <= kHighestRateOfLongCopies ? kLongCopy : kShortCopy;
      attributes.exclude_callchain_user = 1;
    } else if (kReturnsOnStack) {
      attributes.sample_type |= PERF_SAMPLE_STACK_USER;
      attributes.sample_stack_user = kLeafCopy;
    }
    if (options.waits || options.faults) attributes.sample_type |= PERF_SAMPLE_IDENTIFIER;
    if (options.faults)
      attributes.sample_type |= PERF_SAMPLE_ADDR;  // with the period, the kernel would sample each fault
    attributes.sample_max_stack = kMaxChain;
    attributes.inherit = 1;
    attributes.sample_id_all = 1;
    attributes.use_clockid = 1;  // the host's clock of all traces (trace::ClockPair)
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.mmap = attributes.mmap2 = attributes.build_id = 1;
    attributes.comm = attributes.comm_exec = attributes.task = 1;
    attributes.context_switch = 1;
    attributes.watermark = 1;
    set_ring(ring_bytes(std::thread::hardware_concurrency()));
    attributes.exclude_hv = 1;
  }

  // And what depends on it. A small ring would hold too few long copies.
  void set_ring(size_t bytes) {
    ring = bytes;
    attributes.wakeup_watermark = static_cast<uint32_t>(ring / 4);
    if (ring < kLeastForLongCopies) attributes.sample_stack_user = std::min(attributes.sample_stack_user, kShortCopy);
  }
};

PerfEvents PerfEvents::for_next_program(const EventOptions& options) {
  Request request(options);
  request.attributes.disabled = request.attributes.enable_on_exec = 1;
  constexpr pid_t kThisThread = 0;
  return open({kThisThread}, request);
}

PerfEvents PerfEvents::for_process(pid_t pid, const EventOptions& options) {
  Request request(options);
  request.pid = pid;
  raise_file_limit();
  const std::vector<pid_t> threads = threads_of(pid);
  if (threads.empty()) refuse(ESRCH, pid);
  return open(threads, request);
}

// A user without rights may lock only some memory, which all rings share alike: a program runs on any processor. An
// event must know the size of its ring, otherwise it would wake up the reader only when the ring is full.
PerfEvents PerfEvents::open(const std::vector<pid_t>& threads, Request request) {
  for (; request.ring >= kSmallestRing; request.set_ring(request.ring / 2)) {
    PerfEvents events;
    if (events.open_all(threads, request)) return events;
  }
  throw NotAvailable(
      "the memory that a user may lock is used up: end other profilers, or raise it with 'ulimit -l' or "
      "kernel.perf_event_mlock_kb");
}

// The kernel's part needs more rights than the rest, and old kernels know no build ids.
int PerfEvents::open_sampling(Request& request, pid_t thread, int processor) {
  perf_event_attr& attributes = request.attributes;
  int event = open_event(attributes, thread, processor);
  if (event < 0 && (errno == EACCES || errno == EPERM) && attributes.exclude_kernel == 0) {
    attributes.exclude_kernel = 1;
    // Without this, the chain of a user is empty but still costs time.
    if (attributes.exclude_callchain_user == 1) attributes.sample_type &= ~uint64_t{PERF_SAMPLE_CALLCHAIN};
    event = open_event(attributes, thread, processor);
  }
  if (event < 0 && errno == EINVAL && attributes.build_id == 1) {
    attributes.build_id = 0;
    event = open_event(attributes, thread, processor);
  }
  return event;
}

// False: it is too large for this user.
bool PerfEvents::map_ring(int event, const Request& request) {
  PerfRing ring(event, request.ring);
  if (ring.error() == EPERM) return false;
  if (ring.error() != 0)
    throw NotAvailable(base::format("the kernel has no memory for samples: {}", std::strerror(ring.error())));
  rings_.push_back(std::move(ring));
  leaders_.push_back(event);
  return true;
}

// An event whose samples go into the ring of another one. False: the kernel refuses it.
bool PerfEvents::add(const perf_event_attr& attributes, pid_t thread, int processor, int leader, Cause cause,
                     std::vector<base::FileDescriptor>& into) {
  perf_event_attr copy = attributes;
  base::FileDescriptor event(open_event(copy, thread, processor));
  uint64_t id = 0;
  if (!event || ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0 ||
      ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, leader) != 0)
    return false;
  layout_.events.emplace_back(id, cause);
  into.push_back(std::move(event));
  return true;
}

// What does not come from the clock.
void PerfEvents::open_others(const Request& request, pid_t thread, int processor, int leader) {
  perf_event_attr other = request.attributes;
  // The clock's event already reports what happens to processes.
  other.mmap = other.mmap2 = other.build_id = other.comm = other.comm_exec = other.task = other.context_switch = 0;
  if (other.sample_stack_user > kShortCopy) other.sample_stack_user = kShortCopy;
  // The kernel switches threads in its own code, so users without rights get no samples of it.
  if (request.options.waits && request.attributes.exclude_kernel == 0) {
    other.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    other.sample_period = 1;
    has_waits_ = add(other, thread, processor, leader, Cause::Wait, events_) || has_waits_;
  }
  other.config = PERF_COUNT_SW_PAGE_FAULTS;
  if (request.options.faults) {
    other.sample_period = kFaultsOfASample;
    if (add(other, thread, processor, leader, Cause::PageFault, faults_)) {
      has_faults_ = true;
      return;
    }
  }
  other.watermark = other.sample_id_all = other.exclude_callchain_user = 0;
  other.sample_period = other.sample_type = other.sample_regs_user = 0;
  other.sample_stack_user = other.wakeup_watermark = 0;
  if (base::FileDescriptor counter(open_event(other, thread, processor)); counter)
    faults_.push_back(std::move(counter));
}

// False: the rings are too large for this user.
bool PerfEvents::open_all(const std::vector<pid_t>& threads, Request& request) {
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  int last_error = ENODEV;
  for (int processor = 0; processor < processors; ++processor) {
    int leader = -1;
    for (const pid_t thread : threads) {
      base::FileDescriptor event(open_sampling(request, thread, processor));
      if (!event) {
        last_error = errno;
        if (last_error == ESRCH && request.pid && threads.size() > 1) continue;  // the thread has ended meanwhile
        if (last_error == ENODEV || last_error == ENXIO) break;                  // the processor is off
        refuse(last_error, request.pid);
      }
      if (leader < 0) {
        leader = event.get();
        if (!map_ring(leader, request)) return false;
      } else if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, leader) != 0) {
        refuse(errno, request.pid);
      }
      events_.push_back(std::move(event));
      open_others(request, thread, processor, leader);
    }
  }
  if (rings_.empty()) refuse(last_error, request.pid);
  wake_ = base::FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  layout_.sample_type = request.attributes.sample_type;
  layout_.registers = static_cast<unsigned>(std::popcount(kRegisters));
  std::ranges::sort(layout_.events);
  has_kernel_ = request.attributes.exclude_kernel == 0;
  copy_bytes_ = request.attributes.sample_stack_user;
  return true;
}

void PerfEvents::wait(int milliseconds) {
  std::vector<pollfd> files = {{wake_.get(), POLLIN, 0}};
  for (const int leader : leaders_) files.push_back({leader, POLLIN, 0});
  poll(files.data(), files.size(), milliseconds);
  // After its processes have ended, an event is always ready: without this, the next calls would return at once.
  for (const pollfd& file : files)
    if ((file.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) std::erase(leaders_, file.fd);
}

void PerfEvents::wake() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

uint64_t PerfEvents::page_faults() const {
  uint64_t sum = 0;
  for (const base::FileDescriptor& counter : faults_) {
    uint64_t count = 0;
    if (read(counter.get(), &count, sizeof count) == sizeof count) sum += count;
  }
  return sum;
}

void PerfSource::read(bool is_last, const Handle& handle) {
  const uint64_t settled = is_last ? ~uint64_t{0} : base::monotonic_ns() - kSettledNs;
  struct Next {
    uint64_t time;
    size_t ring;
    Record record;
    bool operator<(const Next& other) const { return time > other.time; }  // the top of the queue is the earliest
  };
  std::priority_queue<Next> queue;
  std::vector<PerfRing>& rings = events_.rings();
  const auto push_front = [&](size_t ring) {
    RingReader& reader = rings[ring].records();
    const uint64_t damaged = reader.damaged();
    for (base::Bytes bytes = reader.front(); !bytes.empty(); reader.pop(), bytes = reader.front()) {
      if (const std::optional<Record> record = decode_record(bytes, events_.layout())) {
        if (record->time <= settled) queue.push({record->time, ring, *record});
        return;
      }
      handle(damaged_record(1));
    }
    if (reader.damaged() != damaged) handle(damaged_record(reader.damaged() - damaged));
  };
  for (size_t ring = 0; ring < rings.size(); ++ring) {
    rings[ring].refresh();
    push_front(ring);
  }
  while (!queue.empty()) {
    const Next next = queue.top();
    queue.pop();
    handle(next.record);
    rings[next.ring].records().pop();
    push_front(next.ring);
  }
  for (PerfRing& ring : rings) ring.release();
}

}  // namespace kymo::sample
