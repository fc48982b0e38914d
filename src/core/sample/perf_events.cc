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
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <queue>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "kymo/error.h"
#include "sample/wait_limit.h"

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

constexpr pid_t kThisThread = 0, kAllThreads = -1;
constexpr uint64_t kFormatLost = 1 << 4;  // PERF_FORMAT_LOST, from Linux 6.0 on: after the value, the lost records

std::optional<long> paranoid_level() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  long level = 0;
  if (file >> level) return level;
  return std::nullopt;
}

int open_event(perf_event_attr& attributes, pid_t thread, int processor) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, processor, -1,
                                  static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
}

// Of the calling thread, for which every user has the right, unless a container forbids all events.
base::FileDescriptor dummy_event() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.disabled = attributes.exclude_kernel = 1;
  return base::FileDescriptor(open_event(attributes, kThisThread, -1));
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
      if (pid && geteuid() != 0 && dummy_event())
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

// An event needs a file for each thread and processor, and the clock needs its files more than the waits do.
size_t most_threads_with_waits() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  constexpr long kEvents = 2;  // the clock, the waits
  return limit.rlim_cur / static_cast<rlim_t>(kEvents * std::max(sysconf(_SC_NPROCESSORS_CONF), 1L)) / 2;
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
  int wait_limit = -1;  // of Waits::Some
  std::optional<WakeUpEvent> wake_up;

  explicit Request(const EventOptions& wanted) : options(wanted) {
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = kNanosecondsPerSecond / options.hertz;
    attributes.sample_type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD;
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
    if (options.waits != Waits::None || options.wake_ups) attributes.sample_type |= PERF_SAMPLE_IDENTIFIER;
    attributes.sample_max_stack = kMaxChain;
    attributes.inherit = 1;
    attributes.sample_id_all = 1;
    attributes.read_format = kFormatLost;
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
  PerfEvents events = open({kThisThread}, request);
  // When a thread goes on in place of its parent, the kernel exchanges their events, if both have the same. With an
  // event that is not inherited, this thread keeps its own: they are the templates for all others.
  if (base::FileDescriptor event = dummy_event(); event) events.events_.push_back(std::move(event));
  return events;
}

PerfEvents PerfEvents::for_process(pid_t pid, const EventOptions& options) {
  Request request(options);
  request.pid = pid;
  raise_file_limit();
  const std::vector<pid_t> threads = threads_of(pid);
  if (threads.empty()) refuse(ESRCH, pid);
  if (threads.size() > most_threads_with_waits() && request.options.waits == Waits::Some)
    request.options.waits = Waits::None;
  return open(threads, request);
}

// A user without rights may lock only some memory, which all rings share alike: a program runs on any processor. An
// event must know the size of its ring, otherwise it would wake up the reader only when the ring is full.
PerfEvents PerfEvents::open(const std::vector<pid_t>& threads, Request request) {
  WaitLimiter limiter;
  if (request.options.waits == Waits::Some) {
    limiter = load_wait_limit();
    request.wait_limit = limiter.program.get();
    if (!limiter.program) request.options.waits = Waits::None;
  }
  std::string why_no_wake_ups;
  try {
    if (request.options.wake_ups) request.wake_up = find_wake_up_event();
  } catch (const NotAvailable& error) {
    why_no_wake_ups = error.what();
  }
  for (; request.ring >= kSmallestRing; request.set_ring(request.ring / 2)) {
    PerfEvents events;
    events.why_no_wake_ups_ = why_no_wake_ups;
    if (!events.open_all(threads, request)) continue;
    if (limiter.switches) events.events_.push_back(std::move(limiter.switches));
    return events;
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
  if (event < 0 && errno == EINVAL && attributes.read_format != 0) {
    attributes.read_format = 0;
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

// An event whose samples go into the ring of another one, if the program `limit` permits them. False: the kernel
// refuses it.
bool PerfEvents::add(const perf_event_attr& attributes, pid_t thread, int processor, int leader, Cause cause,
                     std::vector<base::FileDescriptor>& into, int limit) {
  perf_event_attr copy = attributes;
  base::FileDescriptor event(open_event(copy, thread, processor));
  uint64_t id = 0;
  if (!event || ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0 ||
      ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, leader) != 0 ||
      (limit >= 0 && ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, limit) != 0))
    return false;
  layout_.events.emplace_back(id, cause);
  into.push_back(std::move(event));
  return true;
}

void PerfEvents::open_wake_ups(const Request& request, int processor, int leader) {
  if (!request.wake_up) return;
  perf_event_attr attributes = request.attributes;
  attributes.inherit = attributes.disabled = attributes.enable_on_exec = 0;
  attributes.mmap = attributes.mmap2 = attributes.build_id = 0;
  attributes.comm = attributes.comm_exec = attributes.task = attributes.context_switch = 0;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = request.wake_up->number;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attributes.sample_regs_user = 0;
  attributes.sample_stack_user = 0;
  if (attributes.exclude_kernel == 1 || !add(attributes, kAllThreads, processor, leader, Cause::WakeUp, wake_ups_))
    why_no_wake_ups_ = "the kernel lets only root record them";
}

PerfEvents::Unseen PerfEvents::unseen() const {
  Unseen unseen;
  const auto add = [&](bool is_missing, const char* what) {
    if (is_missing) unseen.what += (unseen.what.empty() ? "" : ", ") + std::string(what);
  };
  add(!has_kernel_, "functions of the kernel");
  add(!has_waits_, "stacks of waits");
  add(!why_no_wake_ups_.empty(), "wake-ups");
  if (!has_kernel_)
    unseen.why =
        "the kernel does not let this user sample the kernel; run kymo as root, or sudo sysctl "
        "kernel.perf_event_paranoid=1 for the functions";
  else if (!why_no_wake_ups_.empty())
    unseen.why = why_no_wake_ups_;
  else if (!has_waits_)
    unseen.why = "the kernel lets only root choose waits, from Linux 5.8 on; run kymo as root, or use --sample-waits";
  return unseen;
}

// What does not come from the clock.
void PerfEvents::open_others(const Request& request, pid_t thread, int processor, int leader) {
  perf_event_attr other = request.attributes;
  // The clock's event already reports what happens to processes.
  other.mmap = other.mmap2 = other.build_id = other.comm = other.comm_exec = other.task = other.context_switch = 0;
  if (other.sample_stack_user > kShortCopy) other.sample_stack_user = kShortCopy;
  // The kernel switches threads in its own code, so users without rights get no samples of it.
  if (request.options.waits != Waits::None && request.attributes.exclude_kernel == 0) {
    perf_event_attr wait = other;
    wait.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    wait.sample_period = 1;
    // The kernel walks its functions before it asks whether there is to be a sample.
    const bool is_limited = request.options.waits == Waits::Some;
    if (is_limited && request.options.stacks == Stacks::Copies) wait.exclude_callchain_kernel = 1;
    has_waits_ = add(wait, thread, processor, leader, Cause::Wait, events_, request.wait_limit) || has_waits_;
  }
  other.config = PERF_COUNT_SW_PAGE_FAULTS;
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
        open_wake_ups(request, processor, leader);
      } else if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, leader) != 0) {
        refuse(errno, request.pid);
      }
      if (!request.pid) templates_.push_back(event.get());
      clocks_.push_back(event.get());
      events_.push_back(std::move(event));
      open_others(request, thread, processor, leader);
    }
  }
  if (rings_.empty()) refuse(last_error, request.pid);
  wake_ = base::FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  layout_.sample_type = request.attributes.sample_type;
  layout_.registers = static_cast<unsigned>(std::popcount(kRegisters));
  std::ranges::sort(layout_.events);
  if (request.wake_up) layout_.wake_up = *request.wake_up;
  has_kernel_ = request.attributes.exclude_kernel == 0;
  copy_bytes_ = request.attributes.sample_stack_user;
  period_ns_ = request.attributes.sample_period;
  return true;
}

bool PerfEvents::wait(int milliseconds) {
  std::vector<pollfd> files = {{wake_.get(), POLLIN, 0}};
  for (const int leader : leaders_) files.push_back({leader, POLLIN, 0});
  const bool is_ready = poll(files.data(), files.size(), milliseconds) > 0;
  // After its processes have ended, an event is always ready: without this, the next calls would return at once.
  for (const pollfd& file : files)
    if ((file.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) std::erase(leaders_, file.fd);
  return is_ready;
}

void PerfEvents::wake() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

RecordSource::Counts PerfEvents::counts() const {
  RecordSource::Counts sums;
  const auto add = [&](int counter, uint64_t& to) {
    uint64_t counts[2] = {};
    if (read(counter, counts, sizeof counts) < static_cast<ssize_t>(sizeof *counts)) return;
    to += counts[0];
    sums.lost += counts[1];
  };
  uint64_t others = 0;
  for (const base::FileDescriptor& counter : faults_) add(counter.get(), sums.page_faults);
  for (const base::FileDescriptor& event : wake_ups_) add(event.get(), others);
  for (const base::FileDescriptor& event : events_)
    add(event.get(), std::ranges::find(clocks_, event.get()) != clocks_.end() ? sums.cpu_ns : others);
  return sums;
}

// The kernel copies the period of the first event when a thread starts, and not that of the thread's parent.
void PerfEvents::set_periods_of_new_threads(const std::function<uint64_t()>& next_ns) {
  for (const int event : templates_) {
    uint64_t period = next_ns();
    ioctl(event, PERF_EVENT_IOC_PERIOD, &period);
  }
}

void PerfEvents::record_wake_ups(bool is_on) {
  for (const base::FileDescriptor& event : wake_ups_)
    ioctl(event.get(), is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

// The phase is of the clock, which is as good as a random number. std::random_device wants a recent C library.
FirstSamples::FirstSamples(uint64_t period_ns)
    : period_ns_(period_ns), phase_(static_cast<double>(base::monotonic_ns() % 1'000'000) / 1e6) {}

bool FirstSamples::is_due(uint32_t tid, uint64_t period_ns) {
  const bool is_whole = period_ns == 0 || period_ns >= period_ns_;
  if (is_whole && !balances_.contains(tid)) return true;
  int64_t& balance = balances_[tid];
  const auto passed = static_cast<int64_t>(is_whole ? period_ns_ : period_ns);
  const bool counts = balance >= -passed / 2;  // the one that is nearest to a whole period
  balance += passed;
  if (counts) balance -= static_cast<int64_t>(period_ns_);
  return counts;
}

bool FirstSamples::should_vary(uint64_t now_ns) {
  const double passed = static_cast<double>(now_ns - looked_ns_) / static_cast<double>(kNanosecondsPerSecond);
  starts_ *= std::exp(-passed);
  looked_ns_ = now_ns;
  return starts_ >= kManyStarts;
}

uint64_t FirstSamples::next_period_ns() {
  constexpr double kGoldenRatio = 0.618033988749895;
  constexpr uint64_t kShortestOfKernel = 10'000;
  phase_ += kGoldenRatio;
  phase_ -= std::floor(phase_);
  const double part = std::max(phase_, kShortest) * static_cast<double>(period_ns_);
  return std::min(std::max(static_cast<uint64_t>(part), kShortestOfKernel), period_ns_);
}

// For the threads that start until the next call.
void PerfSource::draw_periods() {
  events_.set_periods_of_new_threads(
      [this] { return is_varied_ ? first_samples_.next_period_ns() : events_.period_ns(); });
}

void PerfSource::wait(int milliseconds) {
  constexpr int kDrawEvery = 4;
  const int piece = is_varied_ ? kDrawEvery : milliseconds;
  for (int left = milliseconds; left > 0 && !events_.wait(std::min(piece, left)); left -= piece)
    if (is_varied_) draw_periods();
}

std::optional<RecordSource::Counts> PerfSource::counts() const {
  Counts counts = events_.counts();
  counts.without_wake_ups_ns = wake_up_limit_.paused_ns();
  return counts;
}

// The kernel counts all records that found no space. Samples come one at a time, so the time without space says how
// many of them there can be.
void PerfSource::count_lost_samples(RingState& ring, Record& record) const {
  if (record.time > ring.last_ns) ring.lost_ns += record.time - ring.last_ns;
  const uint64_t period = std::max<uint64_t>(events_.period_ns(), 1);
  record.lost_samples = std::min(record.lost, ring.lost_ns / period);
  record.lost_since = ring.last_ns;
  ring.lost_ns -= record.lost_samples * period;
}

// The kernel reports losses when there is space again: never, if a ring stays full to the end.
void PerfSource::report_last_losses(const Handle& handle) {
  const uint64_t lost = events_.counts().lost;
  if (lost <= lost_ || states_.empty()) return;
  Record record;
  record.kind = RecordKind::Lost;
  record.time = base::monotonic_ns();
  record.lost = lost - std::exchange(lost_, lost);
  count_lost_samples(*std::ranges::min_element(states_, {}, &RingState::last_ns), record);
  handle(record);
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
  states_.resize(rings.size());
  uint64_t wake_ups = 0;
  while (!queue.empty()) {
    Next next = queue.top();
    queue.pop();
    Record& record = next.record;
    RingState& state = states_[next.ring];
    if (record.kind == RecordKind::Fork) first_samples_.started();
    if (record.kind == RecordKind::Exit) first_samples_.ended(record.tid);
    if (record.kind == RecordKind::Lost) {
      count_lost_samples(state, record);
      lost_ += record.lost;
    }
    if (record.kind == RecordKind::Sample && record.cause == Cause::WakeUp) ++wake_ups;
    const bool is_of_clock = record.kind == RecordKind::Sample && record.cause == Cause::Clock;
    const uint64_t period = std::exchange(record.period, 0);
    if (!is_of_clock || first_samples_.is_due(record.tid, period)) handle(record);
    state.last_ns = std::max(state.last_ns, record.time);
    rings[next.ring].records().pop();
    push_front(next.ring);
  }
  for (PerfRing& ring : rings) ring.release();
  if (is_last) report_last_losses(handle);
  const bool has_room = wake_up_limit_.go_on(wake_ups, base::monotonic_ns());
  if (std::exchange(records_wake_ups_, has_room) != has_room) events_.record_wake_ups(has_room);
  const bool should_vary = first_samples_.should_vary(base::monotonic_ns());
  if (std::exchange(is_varied_, should_vary) || should_vary) draw_periods();
}

}  // namespace kymo::sample
