#include "sample/sampled_process.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/host.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "sample/code_names.h"
#include "sample/perf_events.h"
#include "trace/model.h"

namespace kymo::sample {

namespace {

enum EventClassId : uint32_t { kSample = 1, kOffCpu, kNode, kModule, kSymbol, kOnCpu, kWait, kPython, kWakeUp, kReady };

// On which it may run, or the recorder if it has ended.
size_t processors_of(uint32_t pid) {
  cpu_set_t set;
  for (const pid_t one : {static_cast<pid_t>(pid), 0})
    if (sched_getaffinity(one, sizeof set, &set) == 0) return static_cast<size_t>(CPU_COUNT(&set));
  return static_cast<size_t>(sysconf(_SC_NPROCESSORS_ONLN));
}

const std::vector<trace::EventClass>& event_classes() {
  using trace::FieldType;
  static const std::vector<trace::EventClass> all = {
      {kSample, "sample", "cpu", 0, {{"node", FieldType::UInt}}},
      {kOffCpu, "off CPU", "cpu", 0, {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}}},
      {kNode,
       "stack node",
       "kymo.stack",
       0,
       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}}},
      {kModule,
       "module",
       "kymo.stack",
       0,
       {{"path", FieldType::String},
        {"base", FieldType::Pointer},
        {"size", FieldType::ByteCount},
        {"build_id", FieldType::String}}},
      {kSymbol, "symbol", "kymo.stack", 0, {{"address", FieldType::Pointer}, {"name", FieldType::String}}},
      {kPython,
       "symbol",
       "kymo.stack",
       0,
       {{"address", FieldType::Pointer},
        {"name", FieldType::String},
        {"file", FieldType::String},
        {"line", FieldType::UInt}}},
      {kOnCpu, "on CPU", "cpu", 0, {{"ns", FieldType::UInt}}},
      {kWait,
       "off CPU",
       "cpu",
       0,
       {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}}},
      {kWakeUp, "wake-up", "cpu", 0, {{"pid", FieldType::UInt}, {"tid", FieldType::UInt}}},
      {kReady, "ready", "cpu", 0, {{"ns", FieldType::UInt}}},
  };
  return all;
}

using trace::PointKind;
using unwind::Node;

constexpr uint32_t kClock = 1;
constexpr size_t kMaxPoints = 16'384;  // of a chunk
constexpr size_t kMaxModulePath = 4096;
constexpr uint64_t kMostAtOnce = 1000;  // samples

trace::ClockDomain clock_now() {
  trace::ClockDomain clock;
  clock.id = kClock;
  clock.kind = trace::ClockKind::Monotonic;
  clock.boot_id = base::boot_id();
  clock.pairs.push_back(base::read_clock_pair(base::monotonic_ns));
  return clock;
}

}  // namespace

SampledProcess::SampledProcess(uint32_t pid, uint32_t parent_pid, AddressSpace code, Command command,
                               SharedState& shared)
    : pid_(pid),
      parent_pid_(parent_pid),
      code_(std::move(code)),
      command_(std::move(command)),
      shared_(shared),
      id_(trace::random_writer_id()) {}

SampledProcess::Thread& SampledProcess::thread(uint32_t tid) {
  Thread& found = threads_[tid];
  if (found.track != 0) return found;
  found.track = next_track_++;
  found.batch.track = found.track;
  found.batch.ring = found.track;
  found.is_inside = is_inside_;
  shared_.last_wake_ups[tid] = {};
  if (const auto main = threads_.find(pid_); main != threads_.end()) found.name = main->second.name;
  return found;
}

void SampledProcess::set_command(std::string_view words) {
  command_.words.clear();
  command_.read_ns = 0;
  while (!words.empty()) {
    const size_t end = std::min(words.find('\0'), words.size());
    command_.words.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

void SampledProcess::follow(SampledProcess& before, uint64_t time) {
  // The command line of the other program was read after this one had begun, so it is the one of this program.
  if (before.command_.read_ns != 0 && before.command_.read_ns >= time) {
    before.command_ = {};
    if (before.is_introduced_) before.find_command_line();
  }
  if (before.has_samples()) {
    if (before.threads_.contains(pid_)) --shared_.totals.threads;  // it goes on, and is counted at its end
    before.finish(time, true);
  } else {
    for (auto& [tid, one] : before.threads_) {
      if (one.in_since != 0 && time > one.in_since) before.on_cpu(one, time - one.in_since, time);
      carried_on_ns_ += one.on_ns;
    }
    carried_on_ns_ += before.carried_on_ns_;
    carried_ready_ns_ = before.ready_ns_;
    shared_.totals.off_ns -= before.own_.off_ns;  // begin() counts it again
    created_ = before.created_;
  }
  is_counted_ = before.is_counted_;
}

void SampledProcess::begin(uint32_t tid, uint64_t time) {
  Thread& one = thread(tid);
  if (shared_.is_complete) one.in_since = time;
  one.ready_ns = 0;
  one.on_ns += std::exchange(carried_on_ns_, 0);
  if (created_.time == 0) return;
  // In which order it was ready, waited and ran is not kept.
  const uint64_t off_ns = time - std::min(time, created_.time + one.on_ns);
  const uint64_t ready_ns = std::min(off_ns, carried_ready_ns_);
  point(one, created_.time, PointKind::Sample, kWakeUp, {created_.by_pid, created_.by_tid});
  one.was_preempted = true;
  off_cpu(one, created_.time, created_.time + ready_ns);
  one.was_preempted = false;
  off_cpu(one, created_.time + ready_ns, created_.time + off_ns);
}

void SampledProcess::create(const Record& record) {
  if (!shared_.is_complete) return;
  Thread& one = thread(record.tid);
  one.out_since = record.time;
  one.was_preempted = true;
  one.ready_ns = 0;
  if (record.pid != record.parent_pid) created_ = {record.time, record.parent_pid, record.parent_tid};
  point(one, record.time, PointKind::Sample, kWakeUp, {record.parent_pid, record.parent_tid});
}

void SampledProcess::name(uint32_t tid, std::string_view name) {
  Thread& named = thread(tid);
  if (named.name == name) return;
  named.name = name;
  named.is_stated = false;
}

std::string SampledProcess::name_of(uint32_t tid) const {
  const auto known = threads_.find(tid);
  return known == threads_.end() ? "" : known->second.name;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

void SampledProcess::write_origin(bool is_end) {
  trace::Origin origin = origin_;
  if (is_end) {
    origin.metadata = {{"samples taken", base::count_text(own_.samples)}};
    if (own_.on_ns != 0) origin.metadata.emplace_back("time on CPU", base::duration_text(own_.on_ns));
    if (shared_.is_complete) origin.metadata.emplace_back("time off CPU", base::duration_text(own_.off_ns));
  }
  shared_.outbox.add({id_, std::move(origin)});
}

void SampledProcess::introduce() {
  if (is_introduced_) return;
  is_introduced_ = true;
  if (origin_.pid == 0) {
    origin_.session = shared_.session;
    origin_.pid = pid_;
    origin_.parent_pid = parent_pid_;
    origin_.host = base::host_name();
    origin_.boot_id = base::boot_id();
    origin_.kymo_version = base::kVersion;
    origin_.start_realtime_ns = base::realtime_ns();
    origin_.executable = code_.program().empty() ? command_.path : code_.program();
    find_command_line();
    origin_.metadata = {{"sampling", shared_.rate}, {"processors", std::to_string(processors_of(pid_))}};
    if (!shared_.by.empty()) origin_.metadata.emplace_back("sampled by", shared_.by);
    if (!shared_.also.empty()) origin_.metadata.emplace_back("also sampled", shared_.also);
    if (!shared_.wake_ups.empty()) origin_.metadata.emplace_back("wake-ups", shared_.wake_ups);
    if (!shared_.unseen.empty()) origin_.metadata.emplace_back("not recorded", shared_.unseen);
    if (is_command_own())
      for (const std::string& variable : command_.variables) {
        const size_t equals = variable.find('=');
        origin_.metadata.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
      }
    if (!std::exchange(is_counted_, true)) ++shared_.totals.processes;
  }
  if (!shared_.first_writer) {
    shared_.first_writer = id_;
    shared_.first_origin = origin_;
  }
  write_origin(false);
  shared_.outbox.add({id_, clock_now()});
  shared_.outbox.add({id_, event_classes()});
}

// What was read a moment after its start may be of another program.
bool SampledProcess::is_command_own() const {
  return command_.read_ns == 0 || command_.path.empty() || command_.path == origin_.executable;
}

// If it is not known, the name of its thread stands for it.
void SampledProcess::find_command_line() {
  origin_.command_line.clear();
  if (is_command_own()) origin_.command_line = command_.words;
  if (origin_.command_line.empty() && !threads_.empty()) origin_.command_line = {threads_.begin()->second.name};
}

void SampledProcess::hand_over(uint32_t tid, Thread& one) {
  // What it took over from the program before it has no time yet.
  if (one.latest != 0) state_on_cpu(one, one.latest), state_ready(tid, one);
  if (one.batch.points.size() == 0) return;
  introduce();
  if (!one.is_stated) {
    trace::Track track;
    track.id = one.track;
    track.clock = kClock;
    track.tid = tid;
    track.name = one.name;
    shared_.outbox.add({id_, std::vector{track}});
    one.is_stated = true;
  }
  trace::EventBatch batch;
  batch.track = batch.ring = one.track;
  std::swap(batch, one.batch);
  one.native_wait = {};
  batch.sequence_begin = one.sequence;
  batch.sequence_end = one.sequence += batch.points.size();
  shared_.outbox.add({id_, std::move(batch)});
  shared_.totals.waits += std::exchange(one.waits, 0);
  shared_.totals.all_waits += std::exchange(one.all_waits, 0);
}

void SampledProcess::flush(uint64_t now, bool everything) {
  for (auto& [tid, one] : threads_)
    if (everything || one.batch.points.size() >= kMaxPoints || now - one.oldest >= shared_.piece_ns)
      hand_over(tid, one);
}

void SampledProcess::restate() {
  stated_files_.clear();
  stated_names_.clear();
  for (auto& [tid, one] : threads_) {
    one.tree.forget();
    one.is_stated = false;
  }
  if (std::exchange(is_introduced_, false)) introduce();
}

void SampledProcess::lose(trace::LossCause cause, uint64_t count, uint32_t tid, uint64_t time, const char* detail) {
  introduce();
  const auto known = threads_.find(tid);
  trace::Loss loss{cause, 0, count, 0, 0, detail};
  if (known != threads_.end() && known->second.is_stated) {
    loss.track = known->second.track;
    loss.first = loss.last = time;
  }
  shared_.outbox.add({id_, std::vector{loss}});
}

// ---- Events --------------------------------------------------------------------------------------------------------

void SampledProcess::point(Thread& one, uint64_t time, PointKind kind, uint32_t class_id,
                           std::initializer_list<uint64_t> values) {
  trace::Points& points = one.batch.points;
  if (points.size() == 0) one.oldest = time;
  one.latest = std::max(one.latest, time);
  points.time.push_back(time);
  points.kind.push_back(kind);
  points.class_id.push_back(class_id);
  points.id.push_back(0);
  points.values.ints.insert(points.values.ints.end(), values);
}

// A thread sets its name when it likes.
void SampledProcess::read_name(uint32_t tid) {
  std::ifstream file(base::format("/proc/{}/task/{}/comm", pid_, tid));
  std::string text;
  if (std::getline(file, text)) name(tid, text);
}

void SampledProcess::sample(const Record& record) {
  Thread& one = thread(record.tid);
  switch (record.cause) {
    case Cause::Clock:
      return clock_sample(record, one);
    case Cause::Wait: {
      Node root;
      const std::span<const uint64_t> stack = stack_of(record, root);
      one.wait_stack.assign(stack.begin(), stack.end());
      const std::span<const uint64_t> ends = shared_.stacks.ends();
      one.wait_ends.assign(ends.begin(), ends.end());
      one.wait_at = copied_stack(record).at;
      one.wait_root = root;
      one.python_read_ns = 0;
      return;
    }
    case Cause::WakeUp:  // of another thread: Sampler
      return;
  }
}

void SampledProcess::clock_sample(const Record& record, Thread& one) {
  if (!shared_.is_complete && one.batch.points.size() == 0) read_name(record.tid);
  if (!record.is_inside && shared_.is_complete) {
    if (one.in_since != 0 && record.time > one.in_since) on_cpu(one, record.time - one.in_since, record.time);
    one.in_since = record.time;
    one.out_since = 0;  // the record of its return was lost
    one.may_have_ended = false;
  }
  if (record.is_inside) return inside_sample(record, one);
  if (one.is_inside && !record.is_of_kernel) {
    constexpr unsigned kMostMissed = 20;  // then it does not sample itself any more: the program has closed its files
    if (++one.missed < kMostMissed) return one.last_inside == 0 ? keep_kernel_sample(record, one) : void();
    count_pending(one);
    one.is_inside = false;
  }
  if (one.is_inside && is_inside_) return keep_kernel_sample(record, one);
  Node root;
  const std::span<const uint64_t> stack = stack_of(record, root);
  // A timer that could not interrupt the thread at once stands for several samples.
  count_samples(one, record.time, std::clamp<uint64_t>(record.period, 1, kMostAtOnce), stack, shared_.stacks.ends(),
                root, std::exchange(one.python, std::nullopt));
  lose_beyond_most(record, record.period);
}

void SampledProcess::lose_beyond_most(const Record& record, uint64_t count) {
  if (count <= kMostAtOnce) return;
  shared_.totals.lost += count - kMostAtOnce;
  lose(trace::LossCause::SamplesLost, count - kMostAtOnce, record.tid, record.time);
}

void SampledProcess::count_samples(Thread& one, uint64_t time, uint64_t count, std::span<const uint64_t> stack,
                                   std::span<const uint64_t> ends, Node root,
                                   const std::optional<PythonStack>& python) {
  bool root_is_known = false;
  if (python) stack = python_.put_into(stack, ends, *python, root_is_known);
  const Node node = node_of(one, stack, root_is_known ? unwind::kRoot : root, time);
  for (uint64_t i = 0; i < count; ++i) point(one, time, PointKind::Sample, kSample, {node});
  shared_.totals.samples += count;
  own_.samples += count;
}

// After a system call, the thread is still where it called it: the functions of the kernel are from the kernel's
// samples with the same registers, and Python's from the thread.
void SampledProcess::inside_sample(const Record& record, Thread& one) {
  const std::optional<PythonStack> python = std::exchange(one.python, std::nullopt);
  const unwind::Registers at = copied_stack(record).at;
  const auto is_here = [&](const unwind::Registers& other) { return other.pc == at.pc && other.sp == at.sp; };
  if (python && is_here(one.wait_at)) name_native_wait(one, *python);
  one.is_inside = true;
  is_inside_ = record.is_of_kernel;
  one.missed = 0;
  uint64_t left = record.period - std::min(record.period, std::exchange(one.counted, 0));
  for (auto pending = one.pending.begin(); pending != one.pending.end() && left != 0;) {
    if (!is_here(pending->at)) {
      ++pending;
      continue;
    }
    const uint64_t time = std::max(pending->time, one.last_inside);
    count_samples(one, time, 1, pending->stack, pending->ends, pending->root, python);
    --left;
    pending = one.pending.erase(pending);
  }
  one.last_inside = record.time;
  if (left == 0) return;
  Node root;
  const std::span<const uint64_t> stack = stack_of(record, root);
  count_samples(one, record.time, std::min(left, kMostAtOnce), stack, shared_.stacks.ends(), root, python);
  lose_beyond_most(record, left);
}

void SampledProcess::keep_kernel_sample(const Record& record, Thread& one) {
  constexpr size_t kMostPending = 1000;
  Node root;
  const std::span<const uint64_t> stack = stack_of(record, root), ends = shared_.stacks.ends();
  one.pending.push_back(
      {record.time, copied_stack(record).at, {stack.begin(), stack.end()}, {ends.begin(), ends.end()}, root});
  if (one.pending.size() > kMostPending) count_pending(one);
}

// Those since its last own sample.
void SampledProcess::count_pending(Thread& one) {
  for (const KernelSample& pending : std::exchange(one.pending, {})) {
    if (pending.time <= one.last_inside) continue;
    count_samples(one, pending.time, 1, pending.stack, pending.ends, pending.root);
    ++one.counted;
  }
}

// Puts Python's functions into the stack of a wait that was recorded already. Their nodes come before it.
void SampledProcess::name_native_wait(Thread& one, const PythonStack& python) {
  const auto wait = std::exchange(one.native_wait, {});
  if (wait.points >= one.batch.points.size()) return;
  const auto cut = [](auto& all, size_t at) {
    std::remove_reference_t<decltype(all)> tail(all.begin() + static_cast<ptrdiff_t>(at), all.end());
    all.resize(at);
    return tail;
  };
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  const auto each = [](trace::Points& points, const auto& act, auto&... other) {
    act(points.time, other.time...);
    act(points.kind, other.kind...);
    act(points.class_id, other.class_id...);
    act(points.id, other.id...);
  };
  trace::Points later, &points = one.batch.points;
  each(
      points, [&](auto& from, auto& to) { to = cut(from, wait.points); }, later);
  later.values.ints = cut(points.values.ints, wait.ints);
  later.values.text = cut(points.values.text, wait.text);
  bool root_is_known = false;
  const std::span<const uint64_t> stack = python_.put_into(one.wait_stack, one.wait_ends, python, root_is_known);
  const Node node = node_of(one, stack, root_is_known ? unwind::kRoot : wait.root, later.time.front());
  for (const size_t at : wait.nodes) later.values.ints[at - wait.ints] = node;
  each(points, append, later);
  append(points.values.ints, later.values.ints);
  append(points.values.text, later.values.text);
}

void SampledProcess::python(const Record& record) {
  if (record.kind == RecordKind::PythonCode)
    python_.add_code(record.python);
  else if (record.kind == RecordKind::Python)
    thread(record.tid).python = PythonFunctions::read_stack(record.python);
  else
    shared_.totals.unknown_pythons.insert(std::string(record.text));
}

void SampledProcess::on_cpu(Thread& one, uint64_t ns, uint64_t time) {
  one.latest = std::max(one.latest, time);
  one.on_ns += ns;
  own_.on_ns += ns;
  shared_.totals.on_ns += ns;
}

void SampledProcess::state_on_cpu(Thread& one, uint64_t time) {
  if (one.on_ns == 0) return;
  point(one, time, PointKind::Sample, kOnCpu, {std::exchange(one.on_ns, 0)});
}

// Without wake-ups, only the kernel's sum says how long a thread that had waited was ready until it ran.
void SampledProcess::state_ready(uint32_t tid, Thread& one) {
  if (!shared_.is_complete || shared_.has_wake_ups) return;
  std::ifstream file(base::format("/proc/{}/task/{}/schedstat", pid_, tid));
  uint64_t on_ns = 0, ready_ns = 0;
  if (!(file >> on_ns >> ready_ns)) return;
  const uint64_t known_ns = std::exchange(one.ready_ns, ready_ns).value_or(ready_ns);
  if (ready_ns > known_ns)
    point(one, one.latest, PointKind::Sample, kReady, {ready_ns - known_ns});
  else
    one.ready_ns = known_ns;
}

void SampledProcess::read_waiting_python() {
  constexpr unsigned kMostLooks = 5;  // the program may load it a while after its begin
  for (auto& [tid, one] : threads_) {
    if (one.out_since == 0 || !one.wait_root || one.was_preempted || one.python_read_ns != 0) continue;
    if (!python_process_ || !python_process_->has_python()) {
      if (looked_for_python_ == kMostLooks) return;
      ++looked_for_python_;
      python_process_.emplace(static_cast<pid_t>(pid_), code_);
      if (!python_process_->has_python()) return;
    }
    const std::optional<PythonStack> python = python_process_->read(static_cast<pid_t>(tid), 0, python_);
    one.python_read_ns = base::monotonic_ns();
    one.python_wait_stack.clear();
    if (!python) continue;
    bool root_is_known = false;
    const std::span<const uint64_t> stack = python_.put_into(one.wait_stack, one.wait_ends, *python, root_is_known);
    one.python_wait_stack.assign(stack.begin(), stack.end());
    one.python_wait_root = root_is_known ? unwind::kRoot : one.wait_root;
  }
}

// If the wait had ended before they were read, they may be those of another one.
void SampledProcess::take_waiting_python(Thread& one, uint64_t until) {
  const uint64_t read_ns = std::exchange(one.python_read_ns, 0);
  if (!one.wait_root || read_ns == 0 || read_ns > until || one.python_wait_stack.empty()) return;
  one.wait_stack.swap(one.python_wait_stack);
  one.wait_root = one.python_wait_root;
  one.wait_at = {};  // it has Python's functions already
}

void SampledProcess::off_cpu(Thread& one, uint64_t from, uint64_t to, bool is_new) {
  if (to <= from) return;
  const uint64_t preempted = one.was_preempted ? 1 : 0;
  const uint64_t waits = is_new ? 1 - preempted : 0;
  if (const std::optional<Node> root = std::exchange(one.wait_root, std::nullopt)) {
    const Node node = node_of(one, one.wait_stack, *root, from);  // it may state what the point refers to
    const trace::Points& points = one.batch.points;
    if (is_new) one.native_wait = {points.size(), points.values.ints.size(), points.values.text.size(), {}, *root};
    point(one, from, PointKind::Sample, kWait, {to - from, preempted, node});
    one.native_wait.nodes.push_back(points.values.ints.size() - 1);
    one.waits += waits;
  } else {
    point(one, from, PointKind::Sample, kOffCpu, {to - from, preempted});
  }
  one.all_waits += waits;
  own_.off_ns += to - from;
  if (one.was_preempted) {
    ready_ns_ += to - from;
    if (one.ready_ns) *one.ready_ns += to - from;
  }
  shared_.totals.off_ns += to - from;
}

// From its wake-up on, the thread was ready. It may be woken just before it stops. If wake-ups are not recorded, the
// end of a thread or process says about when it has ended a wait (join, wait).
void SampledProcess::waited(uint32_t tid, Thread& one, uint64_t from, uint64_t to) {
  constexpr uint64_t kBeforeStop = 10'000, kAfterThread = 10'000'000, kAfterProcess = 500'000'000;
  take_waiting_python(one, to);
  const SharedState::WakeUp wake_up = std::exchange(shared_.last_wake_ups[tid], {});
  const auto end = shared_.last_ends.find(pid_);
  std::optional<SharedState::WakeUp> last;
  if (wake_up.time + kBeforeStop >= from && wake_up.time <= to) last = wake_up;
  if (!last && !one.was_preempted && end != shared_.last_ends.end() && end->second.time > from &&
      to - std::min(to, end->second.time) < (end->second.by_pid == pid_ ? kAfterThread : kAfterProcess)) {
    last = end->second;
    shared_.last_ends.erase(end);
  }
  if (one.was_preempted || !last) return off_cpu(one, from, to);
  const uint64_t woken = std::clamp(last->time, from, to);
  const std::optional<Node> root = one.wait_root;  // both times have the stack
  off_cpu(one, from, woken);
  if (last->by_tid != 0) point(one, woken, PointKind::Sample, kWakeUp, {last->by_pid, last->by_tid});
  one.was_preempted = !last->is_end;
  one.wait_root = root;
  off_cpu(one, woken, to, woken == from);
}

void SampledProcess::switched(const Record& record) {
  Thread& one = thread(record.tid);
  one.may_have_ended = false;
  if (record.kind == RecordKind::SwitchOut) {
    if (one.in_since != 0 && record.time > one.in_since) on_cpu(one, record.time - one.in_since, record.time);
    one.in_since = 0;
    one.out_since = record.time;
    one.was_preempted = record.is_preempted;
    if (!record.is_preempted) one.native_wait = {};  // what the thread sends from now on is of this wait
  } else {
    if (one.out_since != 0) waited(record.tid, one, one.out_since, record.time);
    one.out_since = 0;
    one.in_since = record.time;
  }
}

// A thread that ran may have been stopped since, or has ended. One that waited mostly waits again afterwards.
void SampledProcess::lost_switches(uint64_t since, uint64_t until) {
  for (auto& [tid, one] : threads_) {
    one.in_since = 0;
    if (one.out_since != 0) {
      take_waiting_python(one, since);
      off_cpu(one, one.out_since, since);
      one.out_since = one.was_preempted ? 0 : std::max(one.out_since, until);
    }
    one.wait_root.reset();  // of a wait that may have ended
    one.may_have_ended = true;
  }
}

void SampledProcess::exit(uint32_t tid, uint64_t time, uint64_t cpu_ns) {
  if (cpu_ns != 0) thread(tid);  // one that was too short for a sample has used the CPU too
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return;
  Thread& one = known->second;
  if (one.in_since != 0 && time > one.in_since) on_cpu(one, time - one.in_since, time);
  take_waiting_python(one, time);
  if (one.out_since != 0 && !one.may_have_ended) off_cpu(one, one.out_since, time);
  if (cpu_ns != 0) on_cpu(one, cpu_ns, time);
  count_pending(one);
  one.latest = std::max(one.latest, time);
  state_on_cpu(one, one.latest);
  if (threads_.size() == 1) state_made_names(one, one.latest);
  hand_over(tid, one);
  ++shared_.totals.threads;
  shared_.last_wake_ups.erase(tid);
  threads_.erase(known);
}

// The record of the end of a thread that is not there any more was lost, so it is not known what it did since the last
// one.
void SampledProcess::finish(uint64_t time, bool runs_on) {
  while (!threads_.empty()) {
    auto& [tid, one] = *threads_.begin();
    const bool is_there = runs_on || access(base::format("/proc/{}/task/{}", pid_, tid).c_str(), F_OK) == 0;
    if (!is_there) one.in_since = one.out_since = 0;
    exit(tid, is_there || one.latest == 0 ? time : std::min(time, one.latest));
  }
  if (!is_introduced_) return;
  shared_.outbox.add({id_, clock_now()});
  write_origin(true);
  shared_.outbox.add({id_, trace::Ending{time}});
}

// ---- Code: what is loaded where, and the stacks in it --------------------------------------------------------------

void SampledProcess::map(const Record& record) {
  if (!record.is_code) return;
  map_code({record.begin, record.begin + record.length, record.file_offset, record.inode, std::string(record.text),
            base::hex(record.build_id)},
           record.time);
}

bool SampledProcess::is_stated_between(uint64_t begin, uint64_t end) const {
  return std::ranges::any_of(stated_files_, [&](const auto& file) { return file.first < end && begin < file.second; });
}

void SampledProcess::hand_over_all() {
  for (auto& [tid, one] : threads_) hand_over(tid, one);
}

void SampledProcess::map_code(MappedFile mapped, uint64_t time) {
  const uint64_t begin = mapped.begin, end = mapped.end;
  if (!is_stated_between(begin, end) || threads_.empty() || !code_.is_other_code(mapped)) {
    code_.map(std::move(mapped));
    return;
  }
  hand_over_all();
  std::erase_if(stated_files_, [&](const auto& file) { return file.first < end && begin < file.second; });
  code_.map(std::move(mapped));
  // Now, and not with the first sample in it, which another thread may have too.
  const LoadedFile* const file = code_.file_at(static_cast<pid_t>(pid_), begin + 1);
  const LoadedFile memory{begin, end - begin, "", ""};  // from now on, no file is there
  state_module(threads_.begin()->second, file != nullptr ? *file : memory, time);
  hand_over_all();
}

void SampledProcess::unload(uint64_t time) {
  const std::vector<MappedFile> mapped = mapped_code(static_cast<pid_t>(pid_));
  if (mapped.empty()) return;  // it has ended
  for (const MappedFile& gone : code_.missing_in(mapped)) code_.unmap(gone);
  map_new_code(mapped, time);
  maps_read_ns_ = 0;
}

bool SampledProcess::map_new_code(const std::vector<MappedFile>& mapped, uint64_t time) {
  bool is_changed = false;
  for (const MappedFile& one : mapped) {
    if (code_.is_known(one)) continue;
    is_changed = true;
    map_code(one, time);
  }
  return is_changed;
}

// Code may have been loaded since.
bool SampledProcess::read_maps_again(uint64_t time) {
  constexpr uint64_t kEveryNs = 200'000'000;
  const uint64_t now = base::monotonic_ns();
  if (shared_.is_complete || now - maps_read_ns_ < kEveryNs) return false;
  maps_read_ns_ = now;
  return map_new_code(mapped_code(static_cast<pid_t>(pid_)), time);
}

// Code that is in no file has the names that its compiler has written, as node, Java and Python do on request.
void SampledProcess::state_made_names(Thread& one, uint64_t time) {
  constexpr size_t kMaxName = 1024;
  if (made_.empty()) return;
  const CodeMap names = CodeMap::of_process(static_cast<pid_t>(pid_));
  for (const uint64_t address : made_)
    if (const std::string_view name = names.at(address - 1); !name.empty())
      state_symbol(one, time, address, name.substr(0, kMaxName));
}

void SampledProcess::state_symbol(Thread& one, uint64_t time, uint64_t address, std::string_view name) {
  if (!stated_names_.insert(address).second) return;
  point(one, time, PointKind::Instant, kSymbol, {address, name.size()});
  one.batch.points.values.text += name;
}

void SampledProcess::state_python(Thread& one, uint64_t time, uint64_t address) {
  if (!stated_names_.insert(address).second) return;
  const PythonFunctions::Place& place = python_.at(address);
  point(one, time, PointKind::Instant, kPython, {address, place.function.size(), place.file.size(), place.line});
  one.batch.points.values.text += place.function + place.file;
}

void SampledProcess::state_file(Thread& one, uint64_t address, uint64_t time) {
  if (PythonFunctions::is_python(address)) return state_python(one, time, address);
  if (address >= kFirstKernelAddress) {
    const KernelNames::Function function = shared_.kernel.at(address);
    if (function.begin == address) state_symbol(one, time, address, function.name);
    return;
  }
  const LoadedFile* const file = code_.file_at(static_cast<pid_t>(pid_), address);
  if (file == nullptr) {
    made_.insert(address);
    return;
  }
  if (file->code != nullptr && address >= file->base) file->code->note_sample(address - file->base);
  state_module(one, *file, time);
}

void SampledProcess::state_module(Thread& one, const LoadedFile& file, uint64_t time) {
  const uint64_t end = file.base + file.size;
  if (stated_files_.contains(file.base)) return;
  // A reader takes the meaning of an address from the last file that was stated there. So whatever was recorded before
  // comes before the new file, and the new file comes before all that is recorded in it, on any thread.
  const bool takes_a_place = is_stated_between(file.base, end);
  if (takes_a_place) hand_over_all();
  stated_files_.emplace(file.base, end);
  const std::string path = file.path.substr(0, kMaxModulePath);
  point(one, time, PointKind::Instant, kModule, {path.size(), file.base, file.size, file.build_id.size()});
  one.batch.points.values.text += path + file.build_id;
  if (takes_a_place) hand_over_all();
}

// Valid until the next call.
std::span<const uint64_t> SampledProcess::stack_of(const Record& record, Node& root) {
  root = unwind::kNoStack;
  const auto pid = static_cast<pid_t>(pid_);
  const std::span<const uint64_t> addresses = shared_.stacks.find(record, code_, pid, root);
  if (root != unwind::kCutNoRule || !read_maps_again(record.time)) return addresses;
  return shared_.stacks.find(record, code_, pid, root);
}

// States what is not known of it.
Node SampledProcess::node_of(Thread& one, std::span<const uint64_t> stack, Node root, uint64_t time) {
  Node node = root;
  for (size_t i = stack.size(); i-- > 0;) {
    bool is_new = false;
    const Node parent = node;
    node = one.tree.child(parent, code_.meaning_of(stack[i]), is_new);
    if (!is_new) continue;
    state_file(one, stack[i], time);
    point(one, time, PointKind::Instant, kNode, {node, parent, stack[i]});
  }
  return node;
}

// ---- The program of a process --------------------------------------------------------------------------------------

namespace {

std::string link_of(const std::string& path) {
  std::array<char, 4096> text;
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<size_t>(length)) : std::string();
}

std::vector<std::string> strings_of(const std::string& path) {
  std::vector<std::string> all;
  std::ifstream file(path);
  for (std::string one; std::getline(file, one, '\0');) all.push_back(one);
  return all;
}

}  // namespace

Command command_of(uint32_t pid) {
  Command command;
  command.path = link_of(base::format("/proc/{}/exe", pid));
  command.words = strings_of(base::format("/proc/{}/cmdline", pid));
  command.variables = strings_of(base::format("/proc/{}/environ", pid));
  std::erase_if(command.variables, [](const std::string& variable) { return !base::describes_run(variable); });
  command.read_ns = base::monotonic_ns();
  return command;
}

}  // namespace kymo::sample
