#include "sample/sampler.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <queue>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"

namespace kymo::sample {

namespace {

constexpr int kWaitMilliseconds = 50;
// A record gets its time a moment before it is in the ring. Newer records than this wait for the next round.
constexpr uint64_t kSettledNs = 1'000'000;

}  // namespace

std::string rate_text(uint64_t hertz) {
  return hertz % 1000 == 0 ? base::format("{} kHz", hertz / 1000) : base::format("{} Hz", hertz);
}

Sampler::Sampler(PerfEvents events, SamplerOptions options) : events_(std::move(events)) {
  shared_.session = std::move(options.session);
  first_words_ = std::move(options.command_line);
  shared_.rate = rate_text(options.hertz);
  try {
    thread_ = base::quiet_thread("kymo-sampler", [this] { run(); });
  } catch (const std::system_error& error) {
    throw NotAvailable(base::format("no thread for the sampler: {}; raise the limit on processes (ulimit -u)",
                                    error.code().message()));
  }
}

Sampler::~Sampler() { stop(); }

void Sampler::run() {
  while (!stopping_.load(std::memory_order_acquire)) {
    events_.wait(kWaitMilliseconds);
    const std::lock_guard lock(mutex_);
    read_rings(false);
  }
}

void Sampler::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  events_.wake();
  thread_.join();
  const std::lock_guard lock(mutex_);
  read_rings(true);
  const uint64_t now = base::monotonic_ns();
  for (auto& [pid, process] : processes_) process->finish(now);
  processes_.clear();
  shared_.totals.page_faults = events_.page_faults();
  if (!shared_.first_writer) return;
  trace::Origin origin = shared_.first_origin;
  origin.metadata = {{"page faults of all", base::count_text(shared_.totals.page_faults)}};
  shared_.outbox.add({*shared_.first_writer, std::move(origin)});
}

void Sampler::restate() {
  const std::lock_guard lock(mutex_);
  for (auto& [pid, process] : processes_) process->restate();
}

SampleTotals Sampler::totals() {
  const std::lock_guard lock(mutex_);
  return shared_.totals;
}

void Sampler::add_running(pid_t pid) {
  const std::lock_guard lock(mutex_);
  AddressSpace code(shared_.files);
  code.read_maps(pid);
  auto process = std::make_unique<SampledProcess>(static_cast<uint32_t>(pid), 0, std::move(code),
                                                  command_of(static_cast<uint32_t>(pid)), shared_);
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(base::format("/proc/{}/task", pid), gone)) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    if (std::getline(file, name))
      process->name(static_cast<uint32_t>(std::atol(entry.path().filename().c_str())), name);
  }
  processes_[static_cast<uint32_t>(pid)] = std::move(process);
}

void Sampler::read_rings(bool is_last) {
  const uint64_t now = base::monotonic_ns();
  const uint64_t settled = is_last ? ~uint64_t{0} : now - kSettledNs;
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
      lose(trace::LossCause::DamagedRecord, 1, {});
    }
    if (reader.damaged() != damaged) lose(trace::LossCause::DamagedRecord, reader.damaged() - damaged, {});
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
  for (auto& [pid, process] : processes_) process->flush(now, false);
}

void Sampler::handle(const Record& record) {
  // A thread at its end has no number any more, and a processor without work has none.
  constexpr uint32_t kNone = ~uint32_t{0};
  const bool is_of_thread = record.pid != 0 && record.pid != kNone && record.tid != 0 && record.tid != kNone;
  if (!is_of_thread && record.kind != RecordKind::Lost && record.kind != RecordKind::Throttle) return;
  switch (record.kind) {
    case RecordKind::Sample:
      return process(record).sample(record);
    case RecordKind::SwitchIn:
    case RecordKind::SwitchOut:
      if (const auto found = processes_.find(record.pid); found != processes_.end()) found->second->switched(record);
      return;
    case RecordKind::Map:
      return process(record).map(record);
    case RecordKind::Name:
      if (record.is_exec) begin_program(record);
      return process(record).name(record.tid, record.text);
    case RecordKind::Fork:
      return fork(record);
    case RecordKind::Exit:
      return exit(record);
    case RecordKind::Lost:
      shared_.totals.lost += record.lost;
      return lose(trace::LossCause::SamplesLost, record.lost, record);
    case RecordKind::Throttle:
      ++shared_.totals.throttled;
      return lose(trace::LossCause::SamplingPaused, 1, record);
    case RecordKind::Unthrottle:
    case RecordKind::Other:
      return;
  }
}

// A process that is not known: the record of its start was lost.
SampledProcess& Sampler::process(const Record& record) {
  std::unique_ptr<SampledProcess>& found = processes_[record.pid];
  if (found == nullptr) {
    AddressSpace code(shared_.files);
    code.read_maps(static_cast<pid_t>(record.pid));
    found = std::make_unique<SampledProcess>(record.pid, 0, std::move(code), command_of(record.pid), shared_);
  }
  return *found;
}

// Another program in the same process: nothing of the old one is left.
void Sampler::begin_program(const Record& record) {
  std::unique_ptr<SampledProcess>& found = processes_[record.pid];
  const uint32_t parent = found != nullptr ? found->parent_pid() : 0;
  // What a shell does between fork and exec is of no interest, unless it takes long enough for a sample.
  if (found != nullptr && found->has_samples()) found->finish(record.time);
  Command command = command_of(record.pid);
  if (command.words.empty()) command.words = std::exchange(first_words_, {});  // it has ended already
  first_words_.clear();
  found =
      std::make_unique<SampledProcess>(record.pid, parent, AddressSpace(shared_.files), std::move(command), shared_);
}

void Sampler::fork(const Record& record) {
  const auto parent = processes_.find(record.parent_pid);
  if (record.pid == record.parent_pid) {
    if (parent != processes_.end()) parent->second->name(record.tid, parent->second->name_of(record.pid));
    return;
  }
  AddressSpace code = parent == processes_.end() ? AddressSpace(shared_.files) : parent->second->code();
  const Command command = parent == processes_.end() ? command_of(record.pid) : parent->second->command();
  auto child = std::make_unique<SampledProcess>(record.pid, record.parent_pid, std::move(code), command, shared_);
  if (parent != processes_.end()) child->name(record.tid, parent->second->name_of(record.parent_pid));
  processes_[record.pid] = std::move(child);
}

void Sampler::exit(const Record& record) {
  const auto found = processes_.find(record.pid);
  if (found == processes_.end()) return;
  found->second->exit(record.tid, record.time);
  if (found->second->has_threads()) return;
  found->second->finish(record.time);
  processes_.erase(found);
}

// Of a process that is known, or of any other.
void Sampler::lose(trace::LossCause cause, uint64_t count, const Record& record) {
  auto found = processes_.find(record.pid);
  if (found == processes_.end()) found = processes_.begin();
  if (found != processes_.end()) found->second->lose(cause, count, record.tid, record.time);
}

}  // namespace kymo::sample
