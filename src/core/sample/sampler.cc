#include "sample/sampler.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "sample/code_names.h"

namespace kymo::sample {

namespace {

constexpr int kWaitMilliseconds = 50;
constexpr uint64_t kMostNamesNs = 3'000'000'000;  // the recorder does not end before
constexpr const char* kLostOthers =
    "the kernel had no space for records about context switches, threads and files; times on and off the CPU are "
    "incomplete";

// False also for a process that has ended but was not waited for.
bool is_running(uint32_t pid) {
  std::ifstream file(base::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may contain anything
  return name_end != text.npos && name_end + 2 < text.size() && text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

}  // namespace

std::string rate_text(uint64_t hertz) {
  return hertz % 1000 == 0 ? base::format("{} kHz", hertz / 1000) : base::format("{} Hz", hertz);
}

Sampler::Sampler(std::unique_ptr<RecordSource> source, SamplerOptions options) : source_(std::move(source)) {
  shared_.is_complete = source_->is_complete();
  shared_.session = std::move(options.session);
  first_words_ = std::move(options.command_line);
  shared_.rate = rate_text(options.hertz);
  shared_.by = std::move(options.by);
  shared_.also = std::move(options.also);
  shared_.wake_ups = std::move(options.wake_ups);
  shared_.has_wake_ups = !shared_.wake_ups.starts_with("not ");
  shared_.unseen = std::move(options.unseen);
  shared_.piece_ns = options.piece_ns;
  try {
    thread_ = base::quiet_thread("kymo-sampler", [this] { run(); });
  } catch (const std::system_error& error) {
    throw NotAvailable(base::format("no thread for the sampler: {}; raise the limit on processes (ulimit -u)",
                                    error.code().message()));
  }
}

Sampler::~Sampler() { stop(); }

void Sampler::run() {
  // On a busy machine, rings that are not read in time lose records. Without the right to it, the kernel refuses.
  const sched_param lowest{sched_get_priority_min(SCHED_RR)};
  sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
  while (!stopping_.load(std::memory_order_acquire)) {
    source_->wait(kWaitMilliseconds);
    const std::lock_guard lock(mutex_);
    read(false);
  }
}

void Sampler::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  source_->wake();
  thread_.join();
  const std::lock_guard lock(mutex_);
  read(true);
  const uint64_t now = base::monotonic_ns();
  for (auto& [pid, process] : processes_) {
    if (is_running(pid)) ++shared_.totals.running;
    process->finish(now);
  }
  processes_.clear();
  if (!shared_.first_writer) return;
  NamesOfCode names = names_of(shared_.files.sampled(), base::monotonic_ns() + kMostNamesNs);
  shared_.totals.unnamed = names.left;
  for (CodeNames& part : names.parts) shared_.outbox.add({*shared_.first_writer, std::move(part)});
  const std::optional<RecordSource::Counts> counts = source_->counts();
  if (!counts) return;
  trace::Origin origin = shared_.first_origin;
  origin.metadata = {{"page faults of all", base::count_text(counts->page_faults)},
                     {"CPU time of all", base::format("{:.6f} s", static_cast<double>(counts->cpu_ns) / 1e9)}};
  if (counts->without_wake_ups_ns != 0)
    origin.metadata.emplace_back(
        "without wake-ups",
        base::format("{}, because there were more than {} a second for each processor",
                     base::duration_text(counts->without_wake_ups_ns), base::count_text(WakeUpLimit::kRate)));
  shared_.outbox.add({*shared_.first_writer, std::move(origin)});
}

void Sampler::end_file(trace::Writer& file) {
  const std::lock_guard lock(mutex_);
  const uint64_t now = base::monotonic_ns();
  for (auto& [pid, process] : processes_) process->flush(now, true);
  shared_.outbox.write(file);
  shared_.first_writer.reset();
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

void Sampler::read(bool is_last) {
  const uint64_t now = base::monotonic_ns();
  source_->read(is_last, [this](const Record& record) { handle(record); });
  if (source_->is_complete())
    for (auto& [pid, process] : processes_) process->read_waiting_python();
  if (!source_->is_complete()) end_dead_processes(now);
  for (auto& [pid, process] : processes_) process->flush(now, false);
}

// A source inside the programs cannot report that they were killed.
void Sampler::end_dead_processes(uint64_t now) {
  constexpr uint64_t kEveryNs = 1'000'000'000;
  if (now - looked_for_dead_ns_ < kEveryNs) return;
  looked_for_dead_ns_ = now;
  std::erase_if(processes_, [now](auto& entry) {
    if (is_running(entry.first)) return false;
    entry.second->finish(now);
    return true;
  });
}

void Sampler::woken(const Record& record) {
  const auto found = shared_.last_wake_ups.find(record.woken);
  if (found == shared_.last_wake_ups.end()) return;
  // A process wakes its parent after its own end.
  const bool is_recorded =
      processes_.contains(record.pid) ||
      std::ranges::any_of(shared_.last_ends, [&](const auto& end) { return end.second.by_pid == record.pid; });
  found->second = {record.time, is_recorded ? record.pid : 0, is_recorded ? record.tid : 0};
}

void Sampler::handle(const Record& record) {
  if (record.kind == RecordKind::Sample && record.cause == Cause::WakeUp) return woken(record);
  // A thread at its end has no number any more, and a processor without work has none.
  constexpr uint32_t kNone = ~uint32_t{0};
  const bool is_of_thread = record.pid != 0 && record.pid != kNone && record.tid != 0 && record.tid != kNone;
  if (!is_of_thread && record.kind != RecordKind::Lost && record.kind != RecordKind::Throttle &&
      record.kind != RecordKind::Damaged)
    return;
  if (record.is_inside) {  // the kernel may have reported its end already
    const auto found = processes_.find(record.pid);
    if (found == processes_.end() || !found->second->has_thread(record.tid)) return;
  }
  switch (record.kind) {
    case RecordKind::Sample:
      return process(record).sample(record);
    case RecordKind::Python:
    case RecordKind::PythonCode:
    case RecordKind::PythonUnknown:
      return process(record).python(record);
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
    case RecordKind::Lost: {
      const uint64_t others = record.lost - std::min(record.lost, record.lost_samples);
      shared_.totals.lost += record.lost_samples;
      shared_.totals.lost_others += others;
      // The kernel names the process that ran when there was space again, and not those that lost something.
      if (record.lost_samples != 0) lose(trace::LossCause::SamplesLost, record.lost_samples, {});
      if (others == 0) return;
      lose(trace::LossCause::Reported, others, {}, kLostOthers);
      for (auto& [pid, process] : processes_) process->lost_switches(record.lost_since, record.time);
      return;
    }
    case RecordKind::Damaged:
      return lose(trace::LossCause::DamagedRecord, record.lost, record);
    case RecordKind::Command:
      return process(record).set_command(record.text);
    case RecordKind::Unload:
      return process(record).unload(record.time);
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
  Command command = command_of(record.pid);
  if (!first_words_.empty())  // the program of the recorder, which has the environment of the recorder
    command = {command.path, std::exchange(first_words_, {}), 0, command_of(static_cast<uint32_t>(getpid())).variables};
  auto next =
      std::make_unique<SampledProcess>(record.pid, parent, AddressSpace(shared_.files), std::move(command), shared_);
  if (found != nullptr) next->follow(*found, record.time);
  found = std::move(next);
  found->begin(record.tid, record.time);
}

void Sampler::fork(const Record& record) {
  const auto parent = processes_.find(record.parent_pid);
  if (record.pid == record.parent_pid) {
    if (parent == processes_.end()) return;
    parent->second->name(record.tid, parent->second->name_of(record.pid));
    return parent->second->create(record);
  }
  AddressSpace code = parent == processes_.end() ? AddressSpace(shared_.files) : parent->second->code();
  const Command command = parent == processes_.end() ? command_of(record.pid) : parent->second->command();
  auto child = std::make_unique<SampledProcess>(record.pid, record.parent_pid, std::move(code), command, shared_);
  if (parent != processes_.end()) child->name(record.tid, parent->second->name_of(record.parent_pid));
  child->create(record);
  processes_[record.pid] = std::move(child);
}

void Sampler::exit(const Record& record) {
  const auto found = processes_.find(record.pid);
  if (found == processes_.end()) return;
  found->second->exit(record.tid, record.time, record.cpu_ns);
  const SharedState::WakeUp end{record.time, record.pid, record.tid, true};
  if (found->second->has_threads()) {
    shared_.last_ends[record.pid] = end;
    return;
  }
  shared_.last_ends[found->second->parent_pid()] = end;
  shared_.last_ends.erase(record.pid);
  found->second->finish(record.time);
  processes_.erase(found);
}

// Of a process that is known, or of any other.
void Sampler::lose(trace::LossCause cause, uint64_t count, const Record& record, const char* detail) {
  auto found = processes_.find(record.pid);
  if (found == processes_.end()) found = processes_.begin();
  if (found != processes_.end()) found->second->lose(cause, count, record.tid, record.time, detail);
}

}  // namespace kymo::sample
