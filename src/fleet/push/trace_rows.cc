#include "push/trace_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string_view>

#include "analyze/report/collective_calls.h"
#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/iteration_operations.h"
#include "analyze/report/iterations.h"
#include "analyze/summary.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/quantile.h"
#include "base/text.h"
#include "base/units.h"
#include "convert/recording_parts.h"
#include "kymo/error.h"
#include "push/processes.h"
#include "trace/model.h"

namespace kymo::push {
namespace {

// The numbers of the iterations of a trace, and the values of the column `numbered`.
class NumberedIterations {
 public:
  explicit NumberedIterations(analyze::IterationNumbers numbers)
      : numbers_(std::move(numbers)), repeated_(analyze::repeated_later(numbers_, analyze::iteration_runs(numbers_))) {}
  const analyze::IterationNumbers& list() const { return numbers_; }
  uint64_t number(size_t i) const { return numbered(i) == kPlace ? i : *numbers_[i]; }
  uint64_t numbered(size_t i) const {
    if (numbers_.empty() || !numbers_[i]) return kPlace;
    return repeated_[i] ? kRepeatedLater : kNumber;
  }

 private:
  analyze::IterationNumbers numbers_;
  std::vector<bool> repeated_;
};

// The trace of a rank that is not one of the group has a wrong rank, and must not stand for one that is missing.
bool may_be_member(int32_t rank, const analyze::ProcessGroup& group) {
  const auto list = analyze::ranks_in(group.name);
  return !list || rank < 0 || std::binary_search(list->ranks.begin(), list->ranks.end(), static_cast<uint32_t>(rank));
}

// What a rank does in the collectives of a process group in an iteration in which all ranks wait for each other.
struct Waits {
  uint64_t calls = 0, ns = 0;
  int64_t first_sequence = -1;
  uint32_t name = 0;  // of the longest call
  uint64_t longest_ns = 0;
};

// The rows of `waits`. `realtime_of` gives nanoseconds since 1970 for a time of the iterations.
void add_waits(Block& block, RowHead& head, const analyze::CollectiveCalls& calls,
               const analyze::Iterations& iterations, const NumberedIterations& numbers,
               const std::function<uint64_t(int64_t)>& realtime_of) {
  std::map<std::pair<uint32_t, uint32_t>, Waits> all;  // by iteration and group
  for (const analyze::CollectiveCall& call : calls.rows) {
    if (!may_be_member(head.rank, calls.groups[call.group])) continue;
    if (call.waiting == analyze::Waiting::Unknown && head.unknown_calls++ == 0)
      head.unknown_call = calls.names[call.name];
    if (call.waiting != analyze::Waiting::ForAll) continue;
    const auto ns = static_cast<uint64_t>(analyze::time_between(call.begin, call.end));
    Waits& waits = all[{call.iteration, call.group}];
    if (waits.calls++ == 0 || call.sequence < waits.first_sequence) waits.first_sequence = call.sequence;
    waits.ns += ns;
    if (waits.calls > 1 && ns <= waits.longest_ns) continue;
    waits.longest_ns = ns;
    waits.name = call.name;
  }
  for (const auto& [key, waits] : all) {
    const auto& [iteration, group] = key;
    const analyze::Interval& time = iterations.list[iteration];
    head.add(block, numbers.number(iteration), numbers.numbered(iteration), realtime_of(time.begin),
             analyze::time_between(time.begin, time.end), head.run, calls.groups[group].name,
             calls.groups[group].members, waits.calls, waits.ns, waits.first_sequence, calls.names[waits.name],
             head.host);
  }
}

constexpr int64_t kSecond = 1'000'000'000;

uint32_t seconds_of(int64_t realtime_ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(realtime_ns / kSecond, 0, UINT32_MAX));
}

// A recording without events, such as one that was cut off early, began when its first process did.
analyze::Summary summary_of(const trace::Reader& reader) {
  analyze::Summary summary = analyze::summarise(reader);
  if (summary.begin_realtime_ns == 0 && !summary.processes.empty())
    summary.begin_realtime_ns = static_cast<int64_t>(summary.processes.front().origin.start_realtime_ns);
  return summary;
}

std::string program_of(const analyze::Summary& summary) {
  for (const analyze::ProcessSummary& process : summary.processes)
    if (!process.origin.executable.empty()) return trace::program_name(process.origin);
  return {};
}

std::string job_of(const trace::Reader& reader, const analyze::Summary& summary) {
  const std::string job = find_job(reader);
  return job.empty() ? program_of(summary) : job;
}

void add_device_time(Block& block, const RowHead& head, const std::string& device, const analyze::DeviceTime& time,
                     uint64_t outside_ns) {
  const auto add = [&](std::string_view part, uint64_t ns) {
    if (ns == 0) return;
    head.add(block, device, part, ns);
  };
  add("compute", time.compute_ns);
  add("communication", time.exposed_communication_ns);
  add("copies", time.exposed_copies_ns);
  for (size_t cause = 0; cause < analyze::kIdleCauses; ++cause)
    add("idle: " + std::string(analyze::text_of(static_cast<analyze::IdleCause>(cause))), time.idle_ns[cause]);
  add(analyze::kProfilingPart, time.profiling_ns);
  add(kOutside, outside_ns);
}

// What could not be read, by offset: several analyses find the same chunks.
using Damage = std::map<uint64_t, std::string>;

// What is after the last complete chunk is not damage: there the end is missing.
void add_damage(Damage& damage, const trace::Reader& reader, const std::vector<trace::Problem>& problems) {
  const std::string file = reader.path() + ": ";  // whoever warns of it names the file
  for (const trace::Problem& problem : problems)
    if (problem.offset < reader.trace_size())
      damage.try_emplace(problem.offset,
                         problem.what.starts_with(file) ? problem.what.substr(file.size()) : problem.what);
}

// What could not be read of the trace of another tool, when it was imported; nullptr if all could.
const std::string* damage_of_source(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const trace::Loss& loss : writer.losses)
      if (loss.cause == trace::LossCause::SourceDamaged) return &loss.detail;
  return nullptr;
}

// The rows of what happens in iterations, and how many are left out. Returns the lengths of the iterations.
std::vector<uint64_t> add_iterations(SummaryBlocks& blocks, RowHead& head, const trace::Reader& reader,
                                     const analyze::Summary& summary, const std::set<trace::WriterId>& helpers,
                                     Damage& damage) {
  analyze::EventWalk walk(reader);
  const analyze::DeviceWork work = analyze::read_device_work(walk);
  const analyze::Iterations iterations = analyze::find_iterations(walk, analyze::launching_track(work), helpers);
  const NumberedIterations numbers(analyze::iteration_numbers(walk, iterations));
  head.is_whole = iterations.list.size() == 1 && numbers.numbered(0) == kPlace;
  const auto realtime_of = [&](int64_t ns) {
    return static_cast<uint64_t>(summary.begin_realtime_ns + (ns - walk.first_ns()));
  };
  std::vector<uint64_t> lengths;
  for (size_t i = 0; i < iterations.list.size(); ++i) {
    const analyze::Interval& one = iterations.list[i];
    lengths.push_back(static_cast<uint64_t>(analyze::time_between(one.begin, one.end)));
    head.add(blocks.iterations, numbers.number(i), numbers.numbered(i), realtime_of(one.begin), lengths.back());
  }
  const analyze::IterationOperations operations = analyze::iteration_operations(walk, work, iterations);
  for (const analyze::IterationOperation& row : operations.rows) {
    const bool is_iteration = !row.on_device && row.name == iterations.name;
    head.operation_calls += row.count;
    head.operation_ns += row.total_ns;
    head.add(blocks.operations, row.name, row.on_device, is_iteration ? kIterationKind : analyze::text_of(row.kind),
             row.count, row.total_ns, row.self_ns, row.min_ns, row.median_ns, row.p99_ns, row.max_ns);
  }
  const analyze::CollectiveCalls calls = analyze::collective_calls(walk, work, iterations, numbers.list());
  add_waits(blocks.waits, head, calls, iterations, numbers, realtime_of);
  head.left_out = work.left_out + calls.left_out;
  const analyze::Intervals window = iterations.window();
  const analyze::ProfilerTimes profiler(walk);
  for (size_t i = 0; i < work.devices.size(); ++i) {
    const analyze::Device& device = work.devices[i];
    add_device_time(blocks.device_time, head, device.name, analyze::device_time(work, device, window, profiler),
                    operations.outside_ns[i]);
  }
  add_damage(damage, reader, walk.problems());
  return lengths;
}

// The same for all files of a recording: one and its compressed copy, one of another tool and what was imported from
// it, or the file of a rank and a merge of several. A merge moves the clocks, so the times are those of the processes'
// own clocks. A trace that does not say when it was recorded begins at any number, which others may have too.
uint64_t recording_number(const RowHead& head, const trace::Reader& reader) {
  if (head.started < kFirstDate) return head.trace;
  std::set<std::string> texts;  // in an order that does not depend on the writers
  for (const auto& [id, parts] : convert::recording_parts(reader))
    for (std::string& part : base::split(parts, ',')) texts.insert(std::move(part));
  const std::string key = base::format("{} {} {} {} {} {} {}", base::join(texts, ", "), head.operation_calls,
                                       head.operation_ns, head.rank, head.job.size(), head.job, head.host);
  return base::hash(std::as_bytes(std::span(key)));
}

void add_mark(Block& block, const RowHead& head, const trace::Reader& reader, const analyze::Summary& summary,
              const TraceLabels& labels, const std::vector<uint64_t>& lengths, size_t problems) {
  const bool is_complete = !head.lacks_end && head.left_out == 0 && head.damage.empty();
  head.add(block, head.host, labels.file, head.run, lengths.size(),
           std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}), base::round_ns(base::median(lengths)),
           summary.lost, problems, is_complete, recording_number(head, reader), head.is_whole);
}

}  // namespace

// The file ends before the recording did: it was cut, or is not copied completely.
bool lacks_end(const trace::Reader& reader) {
  if (reader.trace_size() < reader.file_size() || reader.has_unended_session()) return true;
  return std::any_of(reader.writers().begin(), reader.writers().end(),
                     [](const auto& writer) { return writer.second.lacks_ending(); });
}

bool may_be_part(const trace::Reader& reader) {
  return lacks_end(reader) || !reader.problems().empty() || damage_of_source(reader) != nullptr;
}

RowHead add_summary(SummaryBlocks& blocks, const trace::Reader& reader, uint64_t trace, const TraceLabels& labels) {
  const analyze::Summary summary = summary_of(reader);
  RowHead head;
  head.trace = trace;
  head.started = seconds_of(summary.begin_realtime_ns);
  head.job = labels.job.empty() ? job_of(reader, summary) : labels.job;
  head.rank = static_cast<int32_t>(std::min<int64_t>(labels.rank, INT32_MAX));
  head.run = labels.run.empty() ? find_run(reader) : labels.run;
  std::set<std::string> hosts;
  for (const analyze::ProcessSummary& process : summary.processes)
    if (!process.origin.host.empty()) hosts.insert(process.origin.host);
  head.host = base::join(hosts, ", ");
  Damage damage;
  const std::vector<uint64_t> lengths = add_iterations(blocks, head, reader, summary, labels.helpers, damage);
  if (const std::string* what = damage_of_source(reader)) damage[reader.file_size()] = "cannot read " + *what;
  head.lacks_end = !summary.missing.empty() || summary.torn_bytes != 0 || lacks_end(reader);
  if (!damage.empty()) head.damage = damage.begin()->second;
  add_mark(blocks.traces, head, reader, summary, labels, lengths, damage.size());
  return head;
}

std::pair<uint32_t, uint32_t> times_of(const trace::Reader& reader) {
  constexpr int64_t kDayNs = 86'400 * kSecond;
  const analyze::Summary summary = summary_of(reader);
  const auto end =
      summary.begin_realtime_ns + static_cast<int64_t>(std::min<uint64_t>(summary.duration_ns, INT64_MAX / 4));
  return {seconds_of(summary.begin_realtime_ns - kDayNs), seconds_of(end + kDayNs)};
}

uint32_t day_of(const RowHead& head) {
  constexpr uint32_t kDay = 86'400;
  if (head.started < kEndOfDates) return head.started / kDay;
  throw Error(
      "it begins on 2042-11-19 or later, which is after the last date of the tables; check the clock of the host that "
      "recorded it");
}

std::vector<std::string> warnings_of(const RowHead& head, const std::string& path) {
  const std::string file = base::printable(path);
  std::vector<std::string> texts;
  if (!head.damage.empty())
    texts.push_back(
        base::format("{} is damaged: {}; only what can be read is pushed", file, base::printable(head.damage)));
  if (head.lacks_end)
    texts.push_back(
        base::format("{} has no end: the file or its recording was cut off; only what is in it is pushed", file));
  if (head.left_out > 0)
    texts.push_back(base::format(
        "{} has more operations than one trace may have in the tables: {} are not counted; record fewer iterations",
        file, head.left_out));
  if (head.unknown_calls > 0)
    texts.push_back(base::format(
        "{}: {} ({}) on devices do not say which collective they are, and kymo fleet stragglers does not count them: "
        "record the calls of NCCL too, or give the range around the launch an argument 'Collective name'",
        file, base::count_of(head.unknown_calls, "call"), base::printable(head.unknown_call)));
  if (head.started < kFirstDate)
    texts.push_back(
        base::format("{} does not say when it was recorded, or says a time before 1971: it counts as of 1970, and kymo "
                     "fleet finds it with "
                     "--since 4000w",
                     file));
  return texts;
}

}  // namespace kymo::push
