#include "push/trace_rows.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/memory/profile.h"
#include "analyze/report/collective_calls.h"
#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/iteration_operations.h"
#include "analyze/report/iterations.h"
#include "analyze/summary.h"
#include "base/clock_map.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/quantile.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "push/processes.h"
#include "push/tables.h"
#include "trace/clock.h"
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
  // Those without one, although others have one.
  uint64_t missing() const { return static_cast<uint64_t>(std::count(numbers_.begin(), numbers_.end(), std::nullopt)); }

 private:
  analyze::IterationNumbers numbers_;
  std::vector<bool> repeated_;
};

// The trace of a rank that is not one of the group has a wrong rank, and must not stand for one that is missing.
bool may_be_member(int32_t rank, const analyze::ProcessGroup& group) {
  const auto list = analyze::ranks_in(group.name);
  return !list || rank < 0 || std::binary_search(list->ranks.begin(), list->ranks.end(), static_cast<uint32_t>(rank));
}

// A number that all ranks of the group have for the same call of a collective, and no other call has.
uint64_t same_call(const RowHead& head, uint64_t iteration, const analyze::CollectiveCalls& calls,
                   const analyze::CollectiveCall& call, bool is_member) {
  const std::string &group = calls.groups[call.group].name, &name = calls.names[call.name];
  const std::string key = base::format(
      "{}{}{} {} {} {} {} {} {} {}{}{}", is_member ? "" : base::format("rank {} ", head.rank),
      head.run.empty() ? "" : base::format("run {} {}", head.run.size(), head.run), iteration, call.sequence, call.call,
      call.calls, static_cast<int>(call.waiting), head.job.size(), group.size(), head.job, group, name);
  return base::hash(std::as_bytes(std::span(key)));
}

// The rows of `collective_calls`. `realtime_of` gives nanoseconds since 1970 for a time of the calls.
void add_collectives(Block& block, const RowHead& head, const analyze::CollectiveCalls& calls,
                     const NumberedIterations& numbers, uint64_t clock_error_ns,
                     const std::function<uint64_t(int64_t)>& realtime_of) {
  std::vector<bool> is_member;
  for (const analyze::ProcessGroup& group : calls.groups) is_member.push_back(may_be_member(head.rank, group));
  for (const analyze::CollectiveCall& call : calls.rows) {
    const uint64_t iteration = numbers.number(call.iteration);
    const analyze::ProcessGroup& group = calls.groups[call.group];
    head.add_to(block);
    block.number(iteration);
    block.number(numbers.numbered(call.iteration));
    block.text(group.name);
    block.number(group.members);
    block.text(calls.names[call.name]);
    block.number(static_cast<uint64_t>(call.waiting));
    block.number(static_cast<uint64_t>(call.sequence));
    block.number(call.call);
    block.number(call.calls);
    block.number(same_call(head, iteration, calls, call, is_member[call.group]));
    block.number(realtime_of(call.begin));
    block.number(static_cast<uint64_t>(std::max<int64_t>(call.end - call.begin, 0)));
    block.number(clock_error_ns);
    block.end_row();
  }
}

constexpr int64_t kSecond = 1'000'000'000;

uint32_t seconds_of(int64_t realtime_ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(realtime_ns / kSecond, 0, UINT32_MAX));
}

std::string program_of(const analyze::Summary& summary) {
  for (const analyze::ProcessSummary& process : summary.processes)
    if (!process.origin.executable.empty()) return trace::program_name(process.origin.executable);
  return {};
}

std::string job_of(const trace::Reader& reader, const analyze::Summary& summary) {
  const std::string job = find_job(reader);
  return job.empty() ? program_of(summary) : job;
}

template <typename Items, typename Text>
std::string joined(const Items& items, Text&& text) {
  std::set<std::string> names;
  for (const auto& item : items)
    if (std::string name = text(item); !name.empty()) names.insert(std::move(name));
  return base::join(names, ", ");
}

void add_device_time(Block& block, const RowHead& head, const std::string& device, const analyze::DeviceTime& time,
                     uint64_t outside_ns) {
  const auto add = [&](std::string_view part, uint64_t ns) {
    if (ns == 0) return;
    head.add_to(block);
    block.text(device);
    block.text(part);
    block.number(ns);
    block.end_row();
  };
  add("compute", time.compute_ns);
  add("communication", time.exposed_communication_ns);
  add("copies", time.exposed_copies_ns);
  for (size_t cause = 0; cause < analyze::kIdleCauses; ++cause)
    add("idle: " + std::string(analyze::text_of(static_cast<analyze::IdleCause>(cause))), time.idle_ns[cause]);
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

void add_memory(Block& block, const RowHead& head, const trace::Reader& reader, Damage& damage) {
  const memory::Profile profile = memory::read_profile(reader);
  add_damage(damage, reader, profile.problems);
  for (size_t i = 0; i < profile.memories.size() && i < profile.tables.memories.size(); ++i) {
    const memory::MemoryUse& use = profile.memories[i];
    if (use.taken.count == 0 && use.returns == 0) continue;
    head.add_to(block);
    block.text(profile.tables.memories[i].device);
    block.number(use.peak_bytes);
    block.number(static_cast<uint64_t>(use.peak_ns));
    block.number(use.in_use);
    block.number(use.taken.count);
    block.end_row();
  }
}

void add_run(Block& block, const RowHead& head) {
  if (head.run.empty()) return;
  head.add_to(block);
  block.text(head.run);
  block.end_row();
}

// How wrong a difference of two times may be. If all processes were recorded together, a merge moved all their clocks
// by the same.
uint64_t clock_error(const analyze::Summary& summary) {
  std::set<std::string> recordings;
  for (const analyze::ProcessSummary& process : summary.processes) recordings.insert(recording_of(process.origin));
  uint64_t most = 0;
  for (const analyze::ProcessSummary& process : summary.processes) {
    const uint64_t by_merge = recordings.size() == 1 ? trace::alignment_error(process.origin) : 0;
    for (const analyze::ClockSummary& clock : process.clocks)
      if (clock.usable) most = std::max(most, clock.error_ns - std::min(clock.error_ns, by_merge));
  }
  return most;
}

// The rows of what happens in iterations, and how many are left out. Returns the lengths of the iterations.
std::vector<uint64_t> add_iterations(SummaryBlocks& blocks, RowHead& head, const trace::Reader& reader,
                                     const analyze::Summary& summary, const std::set<trace::WriterId>& helpers,
                                     Damage& damage) {
  analyze::EventWalk walk(reader);
  const analyze::DeviceWork work = analyze::read_device_work(walk);
  const analyze::Iterations iterations = analyze::find_iterations(walk, analyze::launching_track(work), helpers);
  const NumberedIterations numbers(analyze::iteration_numbers(walk, iterations));
  head.unnumbered = numbers.missing();
  const auto realtime_of = [&](int64_t ns) {
    return static_cast<uint64_t>(summary.begin_realtime_ns + (ns - walk.first_ns()));
  };
  std::vector<uint64_t> lengths;
  for (size_t i = 0; i < iterations.list.size(); ++i) {
    const analyze::Interval& one = iterations.list[i];
    lengths.push_back(static_cast<uint64_t>(std::max<int64_t>(one.end - one.begin, 0)));
    head.add_to(blocks.iterations);
    blocks.iterations.number(numbers.number(i));
    blocks.iterations.number(numbers.numbered(i));
    blocks.iterations.number(realtime_of(one.begin));
    blocks.iterations.number(lengths.back());
    blocks.iterations.end_row();
  }
  const analyze::IterationOperations operations = analyze::iteration_operations(walk, work, iterations);
  Block& block = blocks.operations;
  for (const analyze::IterationOperation& row : operations.rows) {
    const analyze::OperationName& name = operations.names[row.name];
    head.add_to(block);
    block.number(numbers.number(row.iteration));
    block.number(numbers.numbered(row.iteration));
    block.text(name.name);
    block.number(name.on_device ? 1 : 0);
    block.text(analyze::text_of(name.kind));
    for (const uint64_t value :
         {row.count, row.total_ns, row.self_ns, row.min_ns, row.median_ns, row.p99_ns, row.max_ns})
      block.number(value);
    block.end_row();
  }
  const analyze::CollectiveCalls calls = analyze::collective_calls(walk, work, iterations, numbers.list());
  add_collectives(blocks.collectives, head, calls, numbers, clock_error(summary), realtime_of);
  head.left_out = work.left_out + operations.left_out + calls.left_out;
  const analyze::Intervals window = iterations.window();
  for (size_t i = 0; i < work.devices.size(); ++i) {
    const analyze::Device& device = work.devices[i];
    add_device_time(blocks.device_time, head, device.name, analyze::device_time(walk, work, device, window),
                    operations.outside_ns[i]);
  }
  add_damage(damage, reader, walk.problems());
  return lengths;
}

uint64_t bytes_of_events(const analyze::Summary& summary) {
  uint64_t bytes = 0;
  for (const analyze::ProcessSummary& process : summary.processes)
    for (const analyze::TrackSummary& track : process.tracks) bytes += track.bytes;
  return bytes;
}

void add_mark(Block& block, const RowHead& head, const analyze::Summary& summary, const TraceLabels& labels,
              const std::vector<uint64_t>& lengths, const Damage& damage, bool has_events) {
  using analyze::ProcessSummary;
  const bool is_complete = !head.lacks_end && head.left_out == 0 && head.damage.empty();
  std::set<std::string> devices;
  for (const ProcessSummary& process : summary.processes)
    for (const analyze::TrackSummary& track : process.tracks)
      if (track.kind == trace::TrackKind::DeviceQueue)
        devices.insert(track.device_name.empty() ? track.device_uuid : track.device_name);
  head.add_to(block);
  block.text(joined(summary.processes, [](const ProcessSummary& process) { return process.origin.host; }));
  block.text(program_of(summary));
  block.text(labels.file);
  block.text(joined(summary.processes, [](const ProcessSummary& process) { return process.origin.kymo_version; }));
  block.text(base::join(devices, ", "));
  block.number(static_cast<uint64_t>(summary.begin_realtime_ns));
  block.number(summary.duration_ns);
  block.number(lengths.size());
  block.number(base::round_ns(base::median(lengths)));
  block.number(summary.events());
  // The whole of an incomplete trace must not have fewer (src/fleet/questions/incomplete.h), and may be a part of its
  // file.
  block.number(labels.is_part || !is_complete ? bytes_of_events(summary) : summary.file_size);
  block.number(summary.lost);
  block.number(damage.size());
  block.number(is_complete ? 1 : 0);
  block.number(clock_error(summary));
  block.number(has_events ? 1 : 0);
  block.end_row();
}

}  // namespace

void RowHead::add_to(Block& block) const {
  block.number(trace);
  block.number(started);
  block.text(job);
  block.number(static_cast<uint64_t>(int64_t{rank}));
}

SummaryBlocks::SummaryBlocks()
    : iterations(kIterations),
      operations(kOperations),
      device_time(kDeviceTime),
      memory(kMemory),
      collectives(kCollectives),
      runs(kRuns),
      row_counts(kRowCounts),
      traces(kTraces) {}

size_t SummaryBlocks::bytes() const {
  size_t sum = row_counts.bytes() + traces.bytes();
  for (const Block* block : of_traces()) sum += block->bytes();
  return sum;
}
size_t SummaryBlocks::rows() const {
  size_t sum = 0;
  for (const Block* block : of_traces()) sum += block->rows();
  return sum;
}

void SummaryBlocks::append(const SummaryBlocks& other) {
  iterations.append(other.iterations);
  operations.append(other.operations);
  device_time.append(other.device_time);
  memory.append(other.memory);
  collectives.append(other.collectives);
  runs.append(other.runs);
  row_counts.append(other.row_counts);
  traces.append(other.traces);
}

// The file ends before the recording did: it was cut, or is not copied completely.
bool lacks_end(const trace::Reader& reader) {
  if (reader.trace_size() < reader.file_size() || reader.has_unended_session()) return true;
  return std::any_of(reader.writers().begin(), reader.writers().end(),
                     [](const auto& writer) { return writer.second.lacks_ending(); });
}

bool may_be_part(const trace::Reader& reader) {
  return lacks_end(reader) || !reader.problems().empty() || damage_of_source(reader) != nullptr;
}

RowHead add_summary(SummaryBlocks& blocks, const trace::Reader& reader, uint64_t trace, const TraceLabels& labels,
                    bool has_events) {
  const analyze::Summary summary = analyze::summarise(reader);
  RowHead head;
  head.trace = trace;
  head.started = seconds_of(summary.begin_realtime_ns);
  head.job = labels.job.empty() ? job_of(reader, summary) : labels.job;
  head.rank = static_cast<int32_t>(std::min<int64_t>(labels.rank, INT32_MAX));
  head.run = labels.run.empty() ? find_run(reader) : labels.run;
  Damage damage;
  std::vector<size_t> before;
  for (const Block* block : blocks.of_traces()) before.push_back(block->rows());
  const std::vector<uint64_t> lengths = add_iterations(blocks, head, reader, summary, labels.helpers, damage);
  add_memory(blocks.memory, head, reader, damage);
  add_run(blocks.runs, head);
  if (const std::string* what = damage_of_source(reader)) damage[reader.file_size()] = "cannot read " + *what;
  head.lacks_end = !summary.missing.empty() || summary.torn_bytes != 0 || lacks_end(reader);
  if (!damage.empty()) head.damage = damage.begin()->second;
  for (size_t i = 0; i < before.size(); ++i) {
    const Block& block = *blocks.of_traces()[i];
    add_row_count(blocks.row_counts, head, block.table(), block.rows() - before[i]);
  }
  add_mark(blocks.traces, head, summary, labels, lengths, damage, has_events);
  return head;
}

std::string job_of(const trace::Reader& reader) { return job_of(reader, analyze::summarise(reader)); }

void add_row_count(Block& row_counts, const RowHead& head, const TableSpec& table, uint64_t rows) {
  head.add_to(row_counts);
  row_counts.text(table.name);
  row_counts.number(rows);
  row_counts.end_row();
}

uint32_t month_of(const RowHead& head) {
  const time_t seconds = head.started;
  if (seconds >= kEndOfDates)
    throw Error(
        "it begins on 2042-11-19 or later, which is after the last date of the tables; check the clock of the host "
        "that recorded it");
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return static_cast<uint32_t>(parts.tm_year * 12 + parts.tm_mon);
}

namespace {

// One insert is one block, and a block of up to 1,048,576 rows is inserted at once.
constexpr size_t kRowsOfBlock = 500'000, kBytesOfBlock = 64 << 20;
constexpr size_t kJob = 3, kKind = 5, kTrack = 6, kName = 7;  // columns
constexpr uint32_t kNoKey = UINT32_MAX;

class EventRows {
 public:
  EventRows(const RowHead& head, const std::function<void(const Block&)>& send)
      : head_(head), send_(send), block_(kEvents) {}

  void add(analyze::TrackOfTrace& track, const trace::EventBatch& batch) {
    const trace::Ranges& ranges = batch.ranges;
    trace::ValueCursor values(ranges.values);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const uint64_t begin = ranges.end[i] - ranges.duration[i];
      start_row(track, "range");
      add_name(track, ranges.class_id[i], values);
      block_.number(static_cast<uint64_t>(track.clock.to_realtime_ns(begin)));
      block_.number(track.clock.duration_ns(ranges.duration[i]));
      block_.number(ranges.depth.empty() ? 0 : ranges.depth[i]);
      end_row();
    }
    const trace::Points& points = batch.points;
    trace::ValueCursor point_values(points.values);
    for (size_t i = 0; i < points.size(); ++i) {
      start_row(track, trace::name_of(points.kind[i]).text);
      add_name(track, points.class_id[i], point_values);
      block_.number(static_cast<uint64_t>(track.clock.to_realtime_ns(points.time[i])));
      block_.number(0);
      block_.number(0);
      end_row();
    }
  }

  uint64_t finish() {
    flush();
    return rows_;
  }

 private:
  // What is known of a class in this block.
  struct Known {
    const trace::EventClass* event_class = nullptr;
    std::string name;
    bool has_text = false;  // its events have texts of their own
    uint32_t key = kNoKey;
    uint64_t block = 0;
  };

  void start_row(const analyze::TrackOfTrace& track, std::string_view kind) {
    block_.number(head_.trace);
    block_.number(head_.started);
    if (job_key_ == kNoKey) job_key_ = block_.key(kJob, head_.job);
    block_.by_key(job_key_);
    block_.number(static_cast<uint64_t>(int64_t{head_.rank}));
    if (kind.data() != kind_.data()) {
      kind_ = kind;
      kind_key_ = block_.key(kKind, kind);
    }
    block_.by_key(kind_key_);
    if (&track != track_) {
      track_ = &track;
      track_key_ = block_.key(kTrack, track.name());
    }
    block_.by_key(track_key_);
  }

  void add_name(const analyze::TrackOfTrace& track, uint32_t class_id, trace::ValueCursor& values) {
    Known& known = class_of(track, class_id);
    const auto& row = values.next(known.event_class);
    if (known.key == kNoKey || known.block != blocks_) {
      known.key = block_.key(kName, known.name);
      known.block = blocks_;
    }
    block_.by_key(known.key);
    block_.text(known.has_text ? std::string_view(text_ = trace::full_name(known.event_class, row)) : "");
  }

  Known& class_of(const analyze::TrackOfTrace& track, uint32_t class_id) {
    if (last_ != nullptr && last_writer_ == track.writer_number && last_class_ == class_id) return *last_;
    const auto [entry, is_new] = classes_.try_emplace({track.writer_number, class_id});
    Known& known = entry->second;
    if (is_new) {
      const trace::EventClass* const found = track.writer->find_class(class_id);
      if (found != nullptr) {
        known.event_class = found;
        known.name = trace::shown_name(*found);
        known.has_text = std::any_of(found->fields.begin(), found->fields.end(),
                                     [](const trace::Field& field) { return field.name.empty(); });
      } else {
        known.name = class_id == trace::kInlineName ? "" : "(no name)";
        known.has_text = class_id == trace::kInlineName;
      }
    }
    last_ = &known;
    last_writer_ = track.writer_number;
    last_class_ = class_id;
    return known;
  }

  void end_row() {
    block_.end_row();
    if (block_.rows() >= kRowsOfBlock || block_.bytes() >= kBytesOfBlock) flush();
  }

  void flush() {
    if (block_.rows() == 0) return;
    rows_ += block_.rows();
    send_(block_);
    block_.clear();
    ++blocks_;
    kind_ = {};
    track_ = nullptr;
    job_key_ = kNoKey;
  }

  RowHead head_;
  const std::function<void(const Block&)>& send_;
  Block block_;
  std::map<std::pair<uint32_t, uint32_t>, Known> classes_;  // by writer and class
  Known* last_ = nullptr;
  uint32_t last_writer_ = 0, last_class_ = 0;
  std::string_view kind_;
  const analyze::TrackOfTrace* track_ = nullptr;
  uint32_t kind_key_ = 0, track_key_ = 0, job_key_ = kNoKey;
  std::string text_;
  uint64_t rows_ = 0, blocks_ = 1;
};

}  // namespace

uint64_t add_events(const trace::Reader& reader, const RowHead& head, const std::function<void(const Block&)>& send) {
  analyze::EventWalk walk(reader);
  EventRows rows(head, send);
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kRangeValues | trace::kPoints |
          trace::kPointValues,
      [](const analyze::TrackOfTrace&) { return true; },
      [&](analyze::TrackOfTrace& track, const trace::EventBatch& batch) { rows.add(track, batch); });
  return rows.finish();
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
  if (head.unnumbered > 0)
    texts.push_back(base::format(
        "{}: {} without a number from 0 to 18446744073709551615, which others have; kymo fleet stragglers does not "
        "compare such iterations",
        file, base::count_of(head.unnumbered, "iteration")));
  if (head.started < kFirstDate)
    texts.push_back(
        base::format("{} does not say when it was recorded, or says a time before 1971: it counts as of 1970, and kymo "
                     "fleet finds it with "
                     "--since 4000w",
                     file));
  return texts;
}

}  // namespace kymo::push
