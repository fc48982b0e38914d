#include "import/xplane.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "import/perfetto_packets.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

using perfetto::Field;
using perfetto::Fields;
using trace::FieldType;

// The fields of the messages, as in xplane.proto of TensorFlow.
constexpr uint32_t kPlanes = 1;
constexpr uint32_t kPlaneName = 2, kPlaneLines = 3, kPlaneEvents = 4, kPlaneStats = 5;
constexpr uint32_t kMapKey = 1, kMapValue = 2;
constexpr uint32_t kMetadataName = 2, kMetadataDisplayName = 4;
constexpr uint32_t kLineId = 1, kLineName = 2, kLineTimestampNs = 3, kLineEvents = 4, kLineDisplayName = 11;
constexpr uint32_t kEventMetadata = 1, kEventOffsetPs = 2, kEventDurationPs = 3, kEventStats = 4, kEventOccurrences = 5;
constexpr uint32_t kStatMetadata = 1, kStatDouble = 2, kStatUInt = 3, kStatInt = 4, kStatText = 5, kStatReference = 7;

constexpr size_t kMostLines = 1 << 16;
constexpr int64_t kPsPerNs = 1000;
__extension__ using Wide = __int128;

// Lines of a device that have no work of their own.
bool repeats_work(std::string_view line) {
  constexpr std::array<std::string_view, 8> kAll = {"Steps",          "XLA Modules",          "XLA TraceMe",
                                                    "Source code",    "Framework Ops",        "Framework Name Scope",
                                                    "TensorFlow Ops", "TensorFlow Name Scope"};
  return std::find(kAll.begin(), kAll.end(), line) != kAll.end();
}

std::string_view category_of_work(std::string_view name) {
  if (name.starts_with("Memcpy")) return "gpu_memcpy";
  return name.starts_with("Memset") ? "gpu_memset" : "kernel";
}

using Names = std::unordered_map<uint64_t, std::string_view>;

void add_name(std::string_view entry, Names& names) {
  uint64_t key = 0;
  std::string_view name, display_name;
  Fields fields(entry);
  for (Field field; fields.next(field);) {
    if (field.tag == kMapKey && field.is_number()) key = field.number;
    if (field.tag != kMapValue || !field.is_bytes()) continue;
    Fields of_value(field.bytes);
    for (Field one; of_value.next(one);) {
      if (one.tag == kMetadataName && one.is_bytes()) name = one.bytes;
      if (one.tag == kMetadataDisplayName && one.is_bytes()) display_name = one.bytes;
    }
  }
  names[key] = display_name.empty() ? name : display_name;
}

std::string_view name_at(const Names& names, uint64_t key) {
  const auto found = names.find(key);
  return found == names.end() ? std::string_view() : found->second;
}

class XPlaneImport {
 public:
  explicit XPlaneImport(TraceBuilder& builder) : builder_(builder) {}

  int64_t read(std::string_view bytes) {
    process_ = builder_.add_process({.pid = 1, .name = "host"});
    unless_damaged([&] {
      Fields fields(bytes);
      for (Field field; fields.next(field);)
        if (field.tag == kPlanes && field.is_bytes()) unless_damaged([&] { add_plane(field.bytes); });
    });
    if (plane_count_ == 0) throw Error("it has no planes, so it is not a profile of JAX or TensorFlow");
    builder_.lose("events that only count occurrences, and have no time", aggregated_);
    builder_.lose("events whose names are not in the file", unnamed_);
    builder_.lose(base::format("lines of more than {}", kMostLines), lines_left_out_);
    if (is_damaged_) builder_.lose_damaged("parts of the file, which is damaged or truncated");
    return start_ns_.value_or(0);
  }

 private:
  template <typename Read>
  void unless_damaged(Read&& read) {
    try {
      read();
    } catch (const protozero::exception&) {
      is_damaged_ = true;
    }
  }

  void add_plane(std::string_view plane) {
    std::string_view name;
    event_names_.clear();
    stat_names_.clear();
    std::vector<std::string_view> lines;
    Fields fields(plane);
    for (Field field; fields.next(field);) {
      if (!field.is_bytes()) continue;
      if (field.tag == kPlaneName) name = field.bytes;
      if (field.tag == kPlaneLines) lines.push_back(field.bytes);
      if (field.tag == kPlaneEvents) add_name(field.bytes, event_names_);
      if (field.tag == kPlaneStats) add_name(field.bytes, stat_names_);
    }
    ++plane_count_;
    tracks_.clear();
    const bool on_device = name.starts_with("/device:");
    for (const std::string_view line : lines) add_line(line, on_device ? name : std::string_view());
  }

  // `device` is empty for a line of the host.
  void add_line(std::string_view line, std::string_view device) {
    uint64_t id = 0;
    int64_t timestamp = 0;
    std::string_view name, display_name;
    Fields fields(line);
    for (Field field; fields.next(field);) {
      if (field.tag == kLineId && field.is_number()) id = field.number;
      if (field.tag == kLineTimestampNs && field.is_number()) timestamp = static_cast<int64_t>(field.number);
      if (field.tag == kLineName && field.is_bytes()) name = field.bytes;
      if (field.tag == kLineDisplayName && field.is_bytes()) display_name = field.bytes;
    }
    const auto [known, is_new] = tracks_.try_emplace(id, 0);
    if (is_new) {
      if (builder_.track_count() >= kMostLines) {
        tracks_.erase(known);
        ++lines_left_out_;
        return;
      }
      ImportedTrack track{
          .process = process_, .tid = id, .name = std::string(display_name.empty() ? name : display_name)};
      if (!device.empty()) {
        track.kind = trace::TrackKind::DeviceQueue;
        track.queue = id;
        track.device = device;
      }
      known->second = builder_.add_track(std::move(track));
    }
    line_ = {known->second, timestamp, !device.empty(), repeats_work(name)};
    Fields again(line);
    for (Field field; again.next(field);)
      if (field.tag == kLineEvents && field.is_bytes()) add_event(field.bytes);
  }

  void add_event(std::string_view event) {
    uint64_t metadata = 0, correlation = 0;
    int64_t offset_ps = 0, duration_ps = 0;
    bool is_aggregated = false;
    values_.clear();
    Fields fields(event);
    for (Field field; fields.next(field);) {
      if (field.tag == kEventStats && field.is_bytes()) add_stat(field.bytes, correlation);
      if (!field.is_number()) continue;
      if (field.tag == kEventMetadata) metadata = field.number;
      if (field.tag == kEventOffsetPs) offset_ps = static_cast<int64_t>(field.number);
      if (field.tag == kEventDurationPs) duration_ps = static_cast<int64_t>(field.number);
      is_aggregated |= field.tag == kEventOccurrences;
    }
    aggregated_ += is_aggregated;
    if (is_aggregated) return;
    std::string_view name = name_at(event_names_, metadata);
    unnamed_ += name.empty();
    if (name.empty()) name = "event";
    std::string_view category;
    if (line_.on_device) category = line_.is_annotation ? "gpu_user_annotation" : category_of_work(name);
    const ImportedEvent imported{name, category, &values_};
    // In picoseconds, so that ranges that touch do so in nanoseconds too. Times are absolute, and too large to add up.
    if (!start_ns_) start_ns_ = line_.timestamp_ns;
    const Wide picoseconds = (static_cast<Wide>(line_.timestamp_ns) - *start_ns_) * kPsPerNs + offset_ps;
    const auto nanoseconds = [](Wide ps) {  // rounded down
      const Wide ns = ps / kPsPerNs - (ps % kPsPerNs < 0);
      return static_cast<int64_t>(std::clamp<Wide>(ns, INT64_MIN, INT64_MAX));
    };
    const int64_t start = nanoseconds(picoseconds);
    if (duration_ps == 0) return builder_.point(line_.track, start, trace::PointKind::Instant, 0, imported);
    builder_.range(line_.track, start, nanoseconds(picoseconds + duration_ps), imported, correlation);
  }

  void add_stat(std::string_view stat, uint64_t& correlation) {
    ImportedValue value;
    bool has_value = false;
    const auto set = [&](FieldType type, const Field& field) {
      value.type = type;
      value.bits = field.number;
      value.text = field.bytes;
      has_value = true;
    };
    Fields fields(stat);
    for (Field field; fields.next(field);) {
      if (field.tag == kStatText && field.is_bytes()) set(FieldType::String, field);
      if (!field.is_number()) continue;
      if (field.tag == kStatMetadata) value.name = name_at(stat_names_, field.number);
      if (field.tag == kStatUInt) set(FieldType::UInt, field);
      if (field.tag == kStatInt) set(FieldType::Int, field);
      if (field.tag == kStatDouble) {
        set(FieldType::Double, field);
        value.real = field.real();
      }
      if (field.tag == kStatReference) {
        set(FieldType::String, field);
        value.text = name_at(stat_names_, field.number);
      }
    }
    if (!has_value) return;
    if (value.name == "correlation_id" && value.type != FieldType::String && value.type != FieldType::Double) {
      correlation = value.bits;
    } else {
      values_.push_back(value);
    }
  }

  struct Line {
    uint32_t track = 0;
    int64_t timestamp_ns = 0;
    bool on_device = false, is_annotation = false;
  };

  TraceBuilder& builder_;
  std::optional<int64_t> start_ns_;
  Names event_names_, stat_names_;  // of the plane, by their numbers
  uint32_t process_ = 0;
  std::map<uint64_t, uint32_t> tracks_;  // of the plane, by the ids of lines
  Line line_;
  std::vector<ImportedValue> values_;
  uint64_t plane_count_ = 0, aggregated_ = 0, unnamed_ = 0, lines_left_out_ = 0;
  bool is_damaged_ = false;
};

}  // namespace

bool looks_like_xplane(std::string_view head) {
  constexpr char kPlane = kPlanes << 3 | 2, kId = 1 << 3, kName = kPlaneName << 3 | 2;
  size_t at = 0;
  const auto byte = [&] { return at < head.size() ? head[at++] : '\0'; };
  const auto skip_number = [&] {
    while (static_cast<uint8_t>(byte()) >= 0x80) continue;
  };
  if (byte() != kPlane) return false;
  skip_number();  // the length of the plane
  char tag = byte();
  if (tag == kId) {
    skip_number();
    tag = byte();
  }
  const auto length = tag == kName ? static_cast<uint8_t>(byte()) : uint8_t{0};
  if (length == 0 || length >= 0x80 || at + length > head.size()) return false;
  const std::string_view name = head.substr(at, length);
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

int64_t read_xplane(ByteSource& source, TraceBuilder& builder) {
  const std::string bytes = source.read_all();
  if (!source.damage().empty()) builder.lose_damaged("the rest of the file: " + source.damage());
  return XPlaneImport(builder).read(bytes);
}

}  // namespace kymo::import
