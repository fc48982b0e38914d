#include "query/loaded_traces.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <tuple>

#include "analyze/operation_name.h"
#include "base/printable.h"
#include "kymo/error.h"
#include "query/range_facts.h"
#include "trace/model.h"

namespace kymo::query {

void Dictionary::add(std::string_view untrusted) {
  std::string text = base::readable_text(untrusted);
  if (numbers_.try_emplace(text, 0).second) texts_.push_back(std::move(text));
}

void Dictionary::finish() {
  std::sort(texts_.begin(), texts_.end());
  for (size_t i = 0; i < texts_.size(); ++i) numbers_[texts_[i]] = static_cast<uint32_t>(i);
}

uint32_t Dictionary::find(std::string_view untrusted) const {
  const auto found = numbers_.find(base::readable_text(untrusted));
  return found == numbers_.end() ? kNull : found->second;
}

namespace {

constexpr size_t kMaxInlineNames = 1 << 20;

// Adds the names of the events of class 0.
bool add_inline_names(const trace::WriterInfo& writer, const std::vector<uint32_t>& class_ids,
                      const trace::Values& values, std::set<std::string>& names) {
  if (std::find(class_ids.begin(), class_ids.end(), trace::kInlineName) == class_ids.end()) return false;
  trace::ValueCursor cursor(values);
  for (const uint32_t class_id : class_ids) {
    const trace::EventClass* const known = writer.find_class(class_id);
    const bool is_inline = class_id == trace::kInlineName;
    if (!is_inline && known == nullptr) break;  // the next values cannot be found
    const auto& row = cursor.next(is_inline ? nullptr : known);
    if (cursor.is_short()) break;
    if (is_inline) names.insert(base::without_iteration_number(trace::full_name(nullptr, row)));
  }
  return true;
}

}  // namespace

ClassNumbers::ClassNumbers(const trace::WriterInfo& writer, const Dictionary& names, const Dictionary& categories) {
  unknown_.name = names.find(kUnknownClass);
  dense_.assign(writer.class_table_size(), unknown_);
  dense_[trace::kInlineName].name = names.find("");  // where a chunk has names of its own, they are read
  for (const auto& [id, event_class] : writer.classes) {
    if (id == trace::kInlineName) continue;
    const Entry entry{names.find(analyze::operation_name(event_class)),
                      event_class.category.empty() ? Dictionary::kNull : categories.find(event_class.category),
                      trace::is_definition(event_class)};
    if (id < dense_.size())
      dense_[id] = entry;
    else
      sparse_[id] = entry;
  }
}

LoadedTrace::LoadedTrace(trace::Reader opened, uint64_t file_number)
    : reader(std::move(opened)), places(reader), number(file_number) {}
LoadedTrace::~LoadedTrace() = default;

const RangeIds& LoadedTrace::ids() const { return fact(ids_); }
const Nesting& LoadedTrace::nesting() const { return fact(nesting_); }
const IterationOfRange& LoadedTrace::iterations() const { return fact(iterations_); }
const SampleFunctions& LoadedTrace::sample_functions() const { return fact(sample_functions_); }
const LoadedStates& LoadedTrace::states() const { return fact(states_); }

LoadedTraces::LoadedTraces(const std::vector<std::string>& paths, const OpenTrace& open) {
  for (const std::string& path : paths) {
    LoadedTrace& trace = traces_.emplace_back(open(path), traces_.size());
    trace.path = path;
    add_texts(trace);
    find_inline_names(trace);
  }
  names.add(kUnknownClass);
  names.add(kOtherNames);
  // An ENUM needs at least one text, and a name that is stored with an event may be empty.
  for (Dictionary* dictionary : {&names, &categories, &processes, &threads, &devices}) dictionary->add("");
  for (Dictionary* dictionary : {&names, &categories, &processes, &threads, &devices, &files}) dictionary->finish();
  for (LoadedTrace& trace : traces_) add_tracks(trace);
}

void LoadedTraces::add_texts(const LoadedTrace& trace) {
  files.add(trace.path);
  for (const auto& [id, writer] : trace.reader.writers()) {
    for (const auto& [class_id, event_class] : writer.classes) {
      if (trace::is_definition(event_class)) continue;
      names.add(analyze::operation_name(event_class));
      categories.add(event_class.category);
    }
  }
  for (const convert::Group& group : trace.places.groups())
    (group.writer == nullptr ? devices : processes).add(group.name);
  for (const convert::Place& place : trace.places.all()) threads.add(place.name);
}

// The type of the column "name" needs all names before the first row. Names of class 0 are in the chunks themselves.
// They are rare and are part of the values, so a chunk without text has no such name, and is not decoded.
void LoadedTraces::find_inline_names(LoadedTrace& trace) {
  const std::vector<trace::EventChunk>& chunks = trace.reader.event_chunks();
  std::vector<char> found(chunks.size(), 0);
  std::set<std::string> inline_names;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  const auto look = [&] {
    trace::EventBatch batch;
    for (size_t i = next++; i < chunks.size(); i = next++) {
      const auto writer = trace.reader.writers().find(chunks[i].writer);
      if (writer == trace.reader.writers().end()) continue;
      try {
        trace.reader.read(chunks[i], batch, trace::kRangeValues | trace::kPointValues);
        if (batch.ranges.values.text.empty() && batch.points.values.text.empty()) continue;
        trace.reader.read(chunks[i], batch,
                          trace::kRangeClasses | trace::kRangeValues | trace::kPoints | trace::kPointValues);
      } catch (const Error&) {
        continue;  // reported when the rows are read
      }
      std::set<std::string> names_here;
      const bool in_ranges = add_inline_names(writer->second, batch.ranges.class_id, batch.ranges.values, names_here);
      const bool in_points = add_inline_names(writer->second, batch.points.class_id, batch.points.values, names_here);
      if (!in_ranges && !in_points) continue;
      found[i] = 1;
      const std::lock_guard lock(mutex);
      for (const std::string& name : names_here)
        if (inline_names.size() < kMaxInlineNames) inline_names.insert(name);
    }
  };
  std::vector<std::thread> helpers;
  const size_t threads_wanted = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), chunks.size() / 8);
  for (size_t i = 1; i < threads_wanted; ++i) helpers.emplace_back(look);
  look();
  for (std::thread& helper : helpers) helper.join();
  for (const std::string& name : inline_names) names.add(name);
  trace.has_inline_names.assign(found.begin(), found.end());
}

void LoadedTraces::add_tracks(LoadedTrace& trace) {
  // The process of a queue is the process that submitted to it, so it cannot be taken from the queue's group.
  using Host = std::tuple<std::string, std::string, uint64_t>;
  const auto host_of = [](const trace::Origin& origin) { return Host(origin.host, origin.boot_id, origin.pid); };
  std::map<Host, uint32_t> process_numbers;
  for (const convert::Group& group : trace.places.groups())
    if (group.writer != nullptr) process_numbers[host_of(group.writer->origin)] = processes.find(group.name);

  std::map<trace::WriterId, uint32_t> writers;
  for (const auto& [id, writer] : trace.reader.writers()) {
    trace.classes.emplace(std::piecewise_construct, std::forward_as_tuple(id),
                          std::forward_as_tuple(writer, names, categories));
    for (const auto& [clock_id, domain] : writer.clocks)
      trace.clocks.emplace(std::pair(id, clock_id), trace::clock_map(domain));
    writers[id] = writer_count_++;
  }
  for (const convert::Place& place : trace.places.all()) {
    const trace::WriterId& id = place.writer->id;
    TrackInfo& track = trace.tracks[{id, place.track->id}];
    track.place = &place;
    const auto clock = trace.clocks.find({id, place.track->clock});
    if (clock != trace.clocks.end() && clock->second.usable()) track.clock = &clock->second;
    track.classes = &trace.classes.at(id);
    track.number = track_count_++;
    track.writer = writers.at(id);
    track.process = process_numbers.at(host_of(place.writer->origin));
    track.thread = threads.find(place.name);
    track.file = files.find(trace.path);
    if (track.on_device()) track.device = devices.find(place.group->name);
  }
}

void LoadedTraces::add_problem(const LoadedTrace& trace, const trace::EventChunk& chunk, const std::string& what) {
  const std::lock_guard lock(mutex_);
  problems_.try_emplace({&trace, chunk.offset}, trace::Problem{chunk.offset, chunk.length, what});
}

std::vector<trace::Problem> LoadedTraces::problems(const LoadedTrace& trace) const {
  std::vector<trace::Problem> all = trace.reader.problems();
  const std::lock_guard lock(mutex_);
  for (const auto& [key, problem] : problems_)
    if (key.first == &trace) all.push_back(problem);
  return all;
}

}  // namespace kymo::query
