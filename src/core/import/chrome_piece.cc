#include "import/chrome_piece.h"

#include <algorithm>
#include <utility>

#include "convert/kineto.h"

namespace kymo::import {
namespace {

constexpr size_t kPartBytes = 64 << 10;  // of a part of a piece that is not valid

}  // namespace

std::string chrome_row_key(const JsonId& pid, const JsonId& tid) { return pid.key() + "\n" + tid.key(); }

void ChromePiece::clear() {
  rows.clear();
  names.clear();
  open.clear();
  counts = {};
  launching_row.reset();
  ends_inside_event = false;
}

void ChromePieceReader::read(JsonPiece& piece, const ChromeQueues& queues, ChromePiece& to) {
  queues_ = &queues;
  to_ = &to;
  to.clear();
  rows_.clear();
  recent_ = {};
  if (!try_read(piece.text(), piece.size)) {
    // Either it was cut at the wrong place, or it has a bad event.
    const std::string_view text = piece.inside();
    const auto nothing = [](size_t, size_t) {};
    if (piece.is_guessed && !split_json_values(text, text.size(), nothing)) {
      to.ends_inside_event = true;
      return;
    }
    read_part(text, kPartBytes);
  }
  for (size_t i = 0; i < to.rows.size(); ++i) {
    EventBlock& from = blocks_[i];
    from.check_order();
    if (!from.records.empty()) to.rows[i].block = from;  // a copy has the exact size
    to.rows[i].block.tables = &tables_;
  }
}

// Reads lists of events, and single events where a list is not valid, so that a bad event costs only itself.
void ChromePieceReader::read_part(std::string_view text, size_t bytes) {
  const auto take = [&](size_t begin, size_t size) {
    const std::string_view part = text.substr(begin, size);
    part_.assign(1, '[').append(part).append("]");
    const size_t length = part_.size();
    part_.resize(length + JsonEvents::kPadding);
    if (try_read(part_.data(), length)) return;
    if (bytes != 0) return read_part(part, 0);
    read_bad(part);
  };
  // What follows the last whole event of a piece that is not valid is one bad event.
  if (!split_json_values(text, bytes, take)) ++to_->counts.bad;
}

void ChromePieceReader::read_bad(std::string_view text) {
  std::string repaired = "[" + repaired_json(text) + "]";
  const size_t length = repaired.size();
  repaired.resize(length + JsonEvents::kPadding);
  if (!try_read(repaired.data(), length)) ++to_->counts.bad;
}

ChromePieceReader::Mark ChromePieceReader::mark() const {
  Mark mark;
  for (size_t i = 0; i < to_->rows.size(); ++i) mark.rows.push_back(blocks_[i].size());
  mark.names = to_->names.size();
  mark.open = to_->open.size();
  mark.counts = to_->counts;
  mark.launching_row = to_->launching_row;
  return mark;
}

void ChromePieceReader::return_to(const Mark& mark) {
  for (size_t i = mark.rows.size(); i < to_->rows.size(); ++i) rows_.erase(to_->rows[i].pid + "\n" + to_->rows[i].tid);
  for (size_t i = 0; i < mark.rows.size(); ++i) blocks_[i].resize(mark.rows[i]);
  to_->rows.resize(mark.rows.size());
  to_->names.resize(mark.names);
  to_->open.resize(mark.open);
  to_->counts = mark.counts;
  to_->launching_row = mark.launching_row;
  recent_ = {};
}

// False: it is not valid JSON, and nothing was added.
bool ChromePieceReader::try_read(char* text, size_t size) {
  const Mark before = mark();
  if (json_.parse(text, size, [this](const JsonEvent& event) { visit(event); })) return true;
  return_to(before);
  return false;
}

namespace {

// The events of a piece: what each phase of Chrome's format becomes.

using trace::FieldType;
using trace::PointKind;
using Open = ChromePiece::Open;

// The categories of work on a device, in Kineto's files.
bool is_device_category(std::string_view category) {
  switch (category.size()) {
    case 6:
      return category == "kernel" || category == "gpu_op";
    case 9:
      return category == "cuda_sync";
    case 10:
      return category == "gpu_memcpy" || category == "gpu_memset" || category == "cuda_event";
    default:
      return category == "gpu_user_annotation";
  }
}

// Calls that launch such work.
bool is_launch_category(std::string_view category) {
  constexpr std::array<std::string_view, 6> kAll = {"cuda_runtime", "cuda_driver",  "hip_runtime",
                                                    "xpu_runtime",  "mtia_runtime", "privateuse1_runtime"};
  return std::find(kAll.begin(), kAll.end(), category) != kAll.end();
}

ImportedValue imported(const JsonArgument& argument) {
  // By JsonArgument::Type.
  constexpr std::array kTypes = {FieldType::Int,  FieldType::UInt,   FieldType::Double,
                                 FieldType::Bool, FieldType::String, FieldType::String};
  return {argument.key, kTypes[static_cast<size_t>(argument.type)], argument.bits, argument.real, argument.text};
}

const JsonArgument* number_argument(const JsonEvent& event, std::string_view key) {
  for (const JsonArgument& argument : event.arguments)
    if (argument.key == key && argument.type == JsonArgument::Type::Int) return &argument;
  return nullptr;
}

// Its arguments say that it ran on the device that its pid is.
bool is_on_device(const JsonEvent& event) {
  const JsonArgument* const device = number_argument(event, "device");
  return device != nullptr && !event.pid.is_text && static_cast<int64_t>(device->bits) == event.pid.number &&
         number_argument(event, "stream") != nullptr;
}

bool same(const JsonId& a, const JsonId& b, const std::string& b_text) {
  return a.is_text == b.is_text && (a.is_text ? a.text == b_text : a.number == b.number);
}

int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return b < 0 ? INT64_MIN : INT64_MAX;
  return result;
}

// Ids are texts or numbers, and belong together only with the same category (and name, for a flow).
std::string id_key(const JsonEvent& event) {
  const bool is_flow = event.phase == 's' || event.phase == 't' || event.phase == 'f';
  std::string key = is_flow ? "flow\n" : "range\n";
  key.append(event.category).append("\n").append(event.scope).append("\n");
  if (is_flow) key.append(event.name).append("\n");
  if (event.id_is_local) key.append(event.pid.key()).append("\n");
  if (event.id) key.append(event.id->key());
  return key;
}

}  // namespace

void ChromePieceReader::visit(const JsonEvent& event) {
  if (event.phase == 0) {
    ++to_->counts.without_phase;
    return;
  }
  if (event.phase == 'M') return name(event);
  if (!event.time_ns) {
    ++to_->counts.without_time;
    return;
  }
  switch (event.phase) {
    case 'X':
      return range(event);
    case 'B':
      prepare(event);
      return blocks_[row(event)].begin(tables_, *event.time_ns, head(event), 0);
    case 'E':
      return blocks_[row(event)].end(*event.time_ns);
    case 'i':
    case 'I':
    case 'R':
    case 'n':
      return instant(event);
    case 'C':
      return counter(event);
    case 's':
      return flow(event, PointKind::FlowBegin);
    case 't':
      return flow(event, PointKind::FlowStep);
    case 'f':
      return flow(event, PointKind::FlowEnd);
    case 'b':
    case 'S':
      return async(event, PointKind::AsyncBegin);
    case 'e':
    case 'F':
      return async(event, PointKind::AsyncEnd);
    default:
      ++to_->counts.phases[static_cast<unsigned char>(event.phase) & 127];
  }
}

void ChromePieceReader::range(const JsonEvent& event) {
  const bool on_device = is_device_category(event.category) || is_on_device(event);
  const uint32_t at = on_device ? queue(event) : row(event);
  uint64_t correlation = 0;
  bool is_finished = true, has_text = false;
  values_.clear();
  for (const JsonArgument& argument : event.arguments) {
    // What the track or the correlation says already.
    if (argument.key == "correlation" && argument.type == JsonArgument::Type::Int) {
      correlation = argument.bits;
    } else if (argument.key == "finished" && argument.type == JsonArgument::Type::Bool && argument.bits == 0) {
      is_finished = false;  // so Kymo writes it, with a duration for viewers
    } else if (!on_device || !is_known(event, at, argument)) {
      values_.push_back(imported(argument));
      has_text |= argument.type == JsonArgument::Type::String;
    }
  }
  ImportedEvent imported{event.name, event.category, range_values_ ? &values_ : nullptr};
  if (has_text) imported.colour = take_colour(values_);
  if (!to_->launching_row && (is_launch_category(event.category) || (correlation != 0 && !on_device)))
    to_->launching_row = at;
  to_->counts.bad_durations += event.has_bad_duration;
  const int64_t start = *event.time_ns, end = sum(start, event.duration_ns.value_or(0));
  if (!is_finished && !event.duration_ns) return blocks_[at].open_range(tables_, start, imported, correlation);
  blocks_[at].range(tables_, start, end, imported, correlation);
  if (!is_finished) add_open(Open::Kind::UnfinishedRange, at, {});
}

void ChromePieceReader::instant(const JsonEvent& event) {
  prepare(event);
  const auto note = take_note(values_, additions_);
  if (note && note->kind == PointKind::Sample) return sample(event);
  const uint32_t at = row(event);
  if (note) {
    const uint32_t colour = take_colour(values_);
    const std::string_view own = additions_.text("name");
    return point(at, *event.time_ns, note->kind, note->id,
                 {own.empty() ? event.name : own, own.empty() ? event.category : "memory", &values_, colour});
  }
  if (event.name != "[memory]") return point(at, *event.time_ns, PointKind::Instant, 0, head(event));
  uint64_t address = 0;
  int64_t bytes = 0;
  std::erase_if(values_, [&](ImportedValue& value) {
    if (value.name == "Bytes") bytes = static_cast<int64_t>(value.bits);
    if (value.name.starts_with("Total ") && value.type == FieldType::Int) value.type = FieldType::ByteCount;
    if (value.name == "Addr") address = value.bits;
    return value.name == "Addr" || value.name == "finished";
  });
  point(at, *event.time_ns, bytes < 0 ? PointKind::Free : PointKind::Allocation, address, head(event));
}

// A sample that Kymo exported as an instant.
void ChromePieceReader::sample(const JsonEvent& event) {
  const uint32_t at = row(event);
  point(at, *event.time_ns, PointKind::Sample, 0, head(event));
  add_open(Open::Kind::Sample, at, std::string(additions_.text("stack")));
}

// A counter with several arguments is several counters.
void ChromePieceReader::counter(const JsonEvent& event) {
  if (event.category == convert::kDerivedCategory) return;
  const uint32_t at = row(event);
  for (const JsonArgument& argument : event.arguments) {
    if (argument.type == JsonArgument::Type::String || argument.type == JsonArgument::Type::Json) continue;
    name_ = event.name;
    if (event.arguments.size() > 1 || argument.key != "value") name_.append(": ").append(argument.key);
    values_.assign(1, imported(argument));
    values_[0].name = "value";
    point(at, *event.time_ns, PointKind::Counter, 0, {name_, event.category, &values_});
  }
}

void ChromePieceReader::flow(const JsonEvent& event, PointKind kind) {
  if (event.category == "ac2g" || event.name == "ac2g") return;
  prepare(event);
  const uint32_t at = row(event);
  point(at, *event.time_ns, kind, 0, {event.name, {}, &values_});
  add_open(Open::Kind::Flow, at, id_key(event));
}

void ChromePieceReader::async(const JsonEvent& event, PointKind kind) {
  prepare(event);
  // Kymo writes the end of a range without an end, for viewers.
  const auto is_unfinished = [](const ImportedValue& value) {
    return value.name == "finished" && value.type == FieldType::Bool && value.bits == 0;
  };
  const bool unfinished = std::erase_if(values_, is_unfinished) != 0;
  const uint32_t at = row(event);
  point(at, *event.time_ns, kind, 0, head(event));
  add_open(unfinished ? Open::Kind::UnfinishedAsync : Open::Kind::Async, at, id_key(event));
}

void ChromePieceReader::add_open(Open::Kind kind, uint32_t row, std::string key) {
  to_->open.push_back({kind, row, static_cast<uint32_t>(blocks_[row].records.size() - 1), std::move(key)});
}

void ChromePieceReader::name(const JsonEvent& event) {
  ChromePiece::Name& name = to_->names.emplace_back();
  name.rows_before = to_->rows.size();
  name.what = event.name;
  name.pid = event.pid.key();
  name.tid = event.tid.key();
  const auto text_of = [&](std::string_view key) {
    for (const JsonArgument& argument : event.arguments)
      if (argument.key == key && argument.type == JsonArgument::Type::String) return std::string(argument.text);
    return std::string();
  };
  const auto number_of = [&](std::string_view key) {
    const JsonArgument* const found = number_argument(event, key);
    return found != nullptr ? std::optional<uint64_t>(found->bits) : std::nullopt;
  };
  if (event.name == "process_name" || event.name == "thread_name") name.text = text_of("name");
  if (event.name == "process_labels") name.text = text_of("labels");
  if (event.name == "thread_sort_index") name.number = number_of("sort_index");
  if (event.name == "kymo_queue") {
    name.text = text_of("device");
    name.number = number_of("pid");
    for (const JsonArgument& argument : event.arguments) {
      if (argument.type != JsonArgument::Type::Int && argument.type != JsonArgument::Type::UInt) continue;
      if (argument.key == "queue") name.queue.queue = argument.bits;
      if (argument.key == "context") name.queue.context = argument.bits;
    }
  }
}

bool ChromePieceReader::Recent::is(const JsonEvent& event) const {
  return is_set && same(event.pid, pid, pid_text) && same(event.tid, tid, tid_text);
}

uint32_t ChromePieceReader::row(const JsonEvent& event) {
  for (const Recent& recent : recent_)
    if (recent.is(event)) return recent.row;
  const auto [entry, is_new] =
      rows_.try_emplace(chrome_row_key(event.pid, event.tid), static_cast<uint32_t>(to_->rows.size()));
  if (is_new) {
    to_->rows.push_back({event.pid.key(), event.tid.key(), {}, {}});
    if (blocks_.size() < to_->rows.size()) blocks_.emplace_back();
    blocks_[entry->second].resize({});
  }
  recent_[next_recent_++ % recent_.size()] = {
      event.pid, event.tid, std::string(event.pid.text), std::string(event.tid.text), entry->second, true};
  return entry->second;
}

// The row of a stream of a device.
uint32_t ChromePieceReader::queue(const JsonEvent& event) {
  const uint32_t at = row(event);
  std::optional<ChromeQueue>& queue = to_->rows[at].queue;
  if (queue) return at;
  if (const auto known = queues_->find(chrome_row_key(event.pid, event.tid)); known != queues_->end()) {
    queue = known->second;
    return at;
  }
  const JsonArgument* const stream = number_argument(event, "stream");
  const JsonArgument* const context = number_argument(event, "context");
  const auto tid = static_cast<uint64_t>(std::max<int64_t>(event.tid.number, 0));
  queue = ChromeQueue{stream != nullptr ? stream->bits : tid, context != nullptr ? context->bits : 0};
  return at;
}

// The row of a device event says this value.
bool ChromePieceReader::is_known(const JsonEvent& event, uint32_t row, const JsonArgument& argument) const {
  if (argument.type != JsonArgument::Type::Int) return false;
  const ChromeQueue& queue = *to_->rows[row].queue;
  if (argument.key == "stream") return argument.bits == queue.queue;
  if (argument.key == "context") return argument.bits == queue.context;
  if (argument.key == "device") return !event.pid.is_text && static_cast<int64_t>(argument.bits) == event.pid.number;
  return false;
}

void ChromePieceReader::prepare(const JsonEvent& event) {
  values_.clear();
  for (const JsonArgument& argument : event.arguments) values_.push_back(imported(argument));
}

ImportedEvent ChromePieceReader::head(const JsonEvent& event) {
  const uint32_t colour = take_colour(values_);
  return {event.name, event.category, &values_, colour};
}

}  // namespace kymo::import
