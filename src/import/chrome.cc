#include "import/chrome.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "import/chrome_rows.h"
#include "import/exported_point.h"
#include "import/json_events.h"
#include "import/json_pieces.h"
#include "import/json_repair.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

using trace::FieldType;
using trace::PointKind;

// The categories of work on a device, in Kineto's files.
constexpr std::array<std::string_view, 7> kDeviceCategories = {
    "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync", "cuda_event", "gpu_op"};
// Calls that launch such work.
constexpr std::array<std::string_view, 6> kLaunchCategories = {"cuda_runtime", "cuda_driver",  "hip_runtime",
                                                               "xpu_runtime",  "mtia_runtime", "privateuse1_runtime"};

template <size_t kCount>
bool is_one_of(std::string_view text, const std::array<std::string_view, kCount>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

ImportedValue imported(const JsonArgument& argument) {
  ImportedValue value{argument.key, FieldType::Int, argument.bits, argument.real, argument.text};
  switch (argument.type) {
    case JsonArgument::Type::Int:
      break;
    case JsonArgument::Type::UInt:
      value.type = FieldType::UInt;
      break;
    case JsonArgument::Type::Double:
      value.type = FieldType::Double;
      break;
    case JsonArgument::Type::Bool:
      value.type = FieldType::Bool;
      break;
    case JsonArgument::Type::String:
    case JsonArgument::Type::Json:
      value.type = FieldType::String;
      break;
  }
  return value;
}

class ChromeImport {
 public:
  explicit ChromeImport(TraceBuilder& builder) : builder_(builder), rows_(builder) {}

  int64_t read(ByteSource& source) {
    JsonPieces pieces(source);
    for (JsonPiece piece; pieces.next(piece);) add(pieces, piece);
    if (!pieces.had_list()) throw Error("it has no list \"traceEvents\", so it is not a Chrome trace");
    report(pieces, source);
    const int64_t base_ns = read_members(pieces);
    rows_.finish();
    return base_ns;
  }

 private:
  struct Counts {
    uint64_t without_time = 0, without_phase = 0, bad = 0;
    std::array<uint64_t, 128> phases{};  // of kinds that are not imported
  };

  void add(JsonPieces& pieces, JsonPiece& piece) {
    const Counts before = counts_;
    builder_.mark();
    const auto visit = [this](const JsonEvent& event) { this->visit(event); };
    if (events_.parse(piece.text, visit)) return;
    builder_.rollback();
    counts_ = before;
    if (piece.cut != JsonPiece::Cut::Single) return pieces.retry(piece);
    std::string repaired = repaired_json(piece.text);
    builder_.mark();
    if (events_.parse(repaired, visit)) return;
    builder_.rollback();
    counts_ = before;
    ++counts_.bad;
  }

  void visit(const JsonEvent& event) {
    if (event.phase == 0) {
      ++counts_.without_phase;
      return;
    }
    if (event.phase == 'M') return rows_.name(event);
    if (!event.time_ns) {
      ++counts_.without_time;
      return;
    }
    switch (event.phase) {
      case 'X':
        return range(event);
      case 'B':
        prepare(event);
        return builder_.begin(rows_.track(event), *event.time_ns, head(event));
      case 'E':
        return builder_.end(rows_.track(event), *event.time_ns);
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
        ++counts_.phases[static_cast<unsigned char>(event.phase) & 127];
    }
  }

  void range(const JsonEvent& event) {
    const bool on_device = is_one_of(event.category, kDeviceCategories) || rows_.is_device(event);
    const uint32_t track = on_device ? rows_.queue(event) : rows_.track(event);
    uint64_t correlation = 0;
    bool is_finished = true;
    values_.clear();
    for (const JsonArgument& argument : event.arguments) {
      // What the track or the correlation says already.
      if (argument.key == "correlation" && argument.type == JsonArgument::Type::Int) {
        correlation = argument.bits;
      } else if (argument.key == "finished" && argument.type == JsonArgument::Type::Bool && argument.bits == 0) {
        is_finished = false;  // so Kymo writes it
      } else if (!on_device || !rows_.says(track, argument)) {
        values_.push_back(imported(argument));
      }
    }
    std::string_view name = event.name, category = event.category;
    if (take_range_note(values_, additions_)) {
      if (const std::string_view own = additions_.text(convert::kOwnName); !own.empty()) {
        name = own;
        // The value of a place in its name.
        std::erase_if(values_, [&](const ImportedValue& value) {
          return value.name == "kernel" && own.find(value.text) != own.npos;
        });
      }
      if (const ImportedValue* const own = additions_.find(convert::kOwnCategory)) category = own->text;
    }
    const uint32_t colour = take_colour(values_);
    const ImportedEvent imported{name, category, &values_, colour};
    if (is_one_of(event.category, kLaunchCategories) || (correlation != 0 && !on_device)) rows_.saw_launch(track);
    const int64_t start = *event.time_ns, duration = std::max<int64_t>(event.duration_ns.value_or(0), 0);
    int64_t end = 0;
    if (__builtin_add_overflow(start, duration, &end)) end = start;
    if (!is_finished) return builder_.open_range(track, start, imported, correlation);
    builder_.range(track, start, end, imported, correlation);
  }

  void instant(const JsonEvent& event) {
    prepare(event);
    const uint32_t track = rows_.track(event);
    if (const auto note = take_note(values_, additions_)) return exported(event, track, *note);
    if (event.name != "[memory]") return builder_.point(track, *event.time_ns, PointKind::Instant, 0, head(event));
    uint64_t address = 0;
    int64_t bytes = 0;
    std::erase_if(values_, [&](ImportedValue& value) {
      if (value.name == "Bytes") bytes = static_cast<int64_t>(value.bits);
      if (value.name.starts_with("Total ") && value.type == FieldType::Int) value.type = FieldType::ByteCount;
      if (value.name == "Addr") address = value.bits;
      return value.name == "Addr" || value.name == "finished";
    });
    builder_.point(track, *event.time_ns, bytes < 0 ? PointKind::Free : PointKind::Allocation, address, head(event));
  }

  // A point that Kymo exported as an instant.
  void exported(const JsonEvent& event, uint32_t track, const convert::Note& note) {
    const bool is_memory = note.kind == PointKind::Allocation || note.kind == PointKind::Free;
    const uint32_t stack = stack_of(additions_, builder_, track);
    std::string_view name = event.name, category = event.category;
    if (is_memory) {
      if (const std::string_view own = additions_.text("name"); !own.empty()) name = own;
      category = additions_.text(convert::kOwnCategory);
      for (ImportedValue& value : values_)  // Kineto's word for it
        if (value.name == "Bytes" && category == "memory") value.name = "bytes";
    }
    const uint32_t colour = take_colour(values_);
    if (note.kind == PointKind::Allocation && stack != 0) values_.push_back(stack_value(stack));
    builder_.point(track, *event.time_ns, note.kind, note.kind == PointKind::Sample ? stack : note.id,
                   {name, category, &values_, colour});
  }

  // A counter with several arguments is several counters.
  void counter(const JsonEvent& event) {
    if (event.category == convert::kDerivedCategory) return;
    const uint32_t track = rows_.track(event);
    for (const JsonArgument& argument : event.arguments) {
      if (argument.type == JsonArgument::Type::String || argument.type == JsonArgument::Type::Json) continue;
      name_ = event.name;
      if (event.arguments.size() > 1 || argument.key != "value") name_.append(": ").append(argument.key);
      values_.assign(1, imported(argument));
      values_[0].name = "value";
      builder_.point(track, *event.time_ns, PointKind::Counter, 0, {name_, event.category, &values_});
    }
  }

  void flow(const JsonEvent& event, PointKind kind) {
    if (event.category == "ac2g" || event.name == "ac2g") return;
    prepare(event);
    const uint32_t track = rows_.track(event);
    const auto note = take_note(values_, additions_);
    if (!note) return builder_.point(track, *event.time_ns, kind, number_of_id(event), {event.name, {}, &values_});
    // Kymo's exports give a flow one name, and its own name is an argument. It is at the end of its range if a viewer
    // would not find it there. A point of several arrows is written for each.
    const std::string_view own = additions_.text("flow");
    const int64_t time = *event.time_ns + (additions_.find("at_end") != nullptr ? 1 : 0);
    const FlowPoint point{track, time, note->kind, note->id};
    if (std::exchange(last_flow_, point) == point) return;
    const uint32_t colour = take_colour(values_);
    builder_.point(track, time, note->kind, note->id,
                   {own.empty() ? event.name : own, additions_.text(convert::kOwnCategory), &values_, colour});
  }

  void async(const JsonEvent& event, PointKind kind) {
    prepare(event);
    const uint64_t number = number_of_id(event);
    // Kymo writes the end of a range without an end, for viewers.
    const auto is_unfinished = [](const ImportedValue& value) {
      return value.name == "finished" && value.type == FieldType::Bool && value.bits == 0;
    };
    if (std::erase_if(values_, is_unfinished) != 0) unfinished_.insert(number);
    if (kind == PointKind::AsyncEnd && unfinished_.erase(number) != 0) return;
    builder_.point(rows_.track(event), *event.time_ns, kind, number, head(event));
  }

  // Ids are texts or numbers, and belong together only with the same category (and name, for a flow).
  uint64_t number_of_id(const JsonEvent& event) {
    id_key_.clear();
    const bool is_flow = event.phase == 's' || event.phase == 't' || event.phase == 'f';
    id_key_.append(is_flow ? "flow\n" : "range\n").append(event.category).append("\n").append(event.scope).append("\n");
    if (is_flow) id_key_.append(event.name).append("\n");
    if (event.id_is_local) id_key_.append(ChromeRows::text_of(event.pid)).append("\n");
    if (event.id) id_key_.append(ChromeRows::text_of(*event.id));
    return ids_.try_emplace(id_key_, ids_.size() + 1).first->second;
  }

  void prepare(const JsonEvent& event) {
    values_.clear();
    for (const JsonArgument& argument : event.arguments) values_.push_back(imported(argument));
  }
  ImportedEvent head(const JsonEvent& event) {
    const uint32_t colour = take_colour(values_);
    return {event.name, event.category, &values_, colour};
  }

  void report(const JsonPieces& pieces, const ByteSource& source) {
    builder_.lose("events that are not valid JSON", counts_.bad);
    builder_.lose("events without a time", counts_.without_time);
    builder_.lose("events without a phase (\"ph\")", counts_.without_phase);
    builder_.lose(base::format("events longer than {} MiB", JsonPieces::kLongestEvent >> 20), pieces.left_out());
    for (size_t phase = 0; phase < counts_.phases.size(); ++phase) {
      const bool is_printable = phase > ' ' && phase < 127;
      builder_.lose(is_printable ? base::format("events of phase \"{}\"", static_cast<char>(phase))
                                 : std::string("events of an unknown phase"),
                    counts_.phases[phase]);
    }
    if (pieces.is_truncated()) builder_.lose("the end of the file, which is truncated", 1);
    if (!source.damage().empty()) builder_.lose("the rest of the file: " + source.damage(), 1);
  }

  int64_t read_members(const JsonPieces& pieces) {
    constexpr size_t kLongestShown = 4096;
    int64_t base_ns = 0;
    std::vector<std::pair<std::string, std::string>> unused;
    auto& metadata = builder_.process_count() > 0 ? builder_.process(rows_.main_process()).metadata : unused;
    for (const auto& [name, json] : pieces.members()) {
      std::string text = json;
      const auto value = events_.value(text);
      if (!value) continue;
      if (name == "baseTimeNanoseconds" && value->type == JsonArgument::Type::Int) {
        base_ns = static_cast<int64_t>(value->bits);
      } else if (name == "deviceProperties") {
        rows_.name_devices(value->text, events_);
      } else if (name != "displayTimeUnit" && name != "schemaVersion" && json.size() <= kLongestShown) {
        metadata.emplace_back(name, value->type == JsonArgument::Type::String ? std::string(value->text) : json);
      }
    }
    return base_ns;
  }

  struct FlowPoint {
    uint32_t track = 0;
    int64_t time = 0;
    PointKind kind = PointKind::Instant;
    uint64_t id = 0;
    bool operator==(const FlowPoint&) const = default;
  };

  TraceBuilder& builder_;
  ChromeRows rows_;
  Additions additions_;
  FlowPoint last_flow_;  // of a file that Kymo exported
  JsonEvents events_;
  Counts counts_;
  std::vector<ImportedValue> values_;
  std::string name_, id_key_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::unordered_set<uint64_t> unfinished_;  // ids of ranges across threads
};

}  // namespace

int64_t read_chrome(ByteSource& source, TraceBuilder& builder) { return ChromeImport(builder).read(source); }

}  // namespace kymo::import
