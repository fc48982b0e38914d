#include "convert/formats/perfetto_sequence.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "base/utf8.h"
#include "convert/perfetto_fields.h"

namespace kymo::convert {

using namespace perfetto;

uint64_t PerfettoSequence::event_name(uint64_t iid, std::string_view text) {
  return define(event_names_, interned::kEventNames, iid, text);
}
uint64_t PerfettoSequence::category(uint64_t iid, std::string_view text) {
  return define(categories_, interned::kCategories, iid, text);
}
uint64_t PerfettoSequence::annotation_name(uint64_t iid, std::string_view text) {
  return define(annotation_names_, interned::kAnnotationNames, iid, text);
}
uint64_t PerfettoSequence::annotation_text(uint64_t iid, std::string_view text) {
  return define(annotation_texts_, interned::kStrings, iid, text);
}

uint64_t PerfettoSequence::define(std::unordered_set<uint64_t>& defined, uint32_t field, uint64_t iid,
                                  std::string_view text) {
  if (!defined.insert(iid).second) return iid;
  std::string room;
  const std::string_view valid = base::valid_utf8(text, room);
  protozero::pbf_writer data(definitions_);
  protozero::pbf_writer entry(data, field);
  entry.add_uint64(interned::kIid, iid);
  entry.add_string(interned::kName, valid.data(), valid.size());
  return iid;
}

void PerfettoSequence::append_event(std::string& out, int64_t time_ns, const std::string& track_event) {
  protozero::pbf_writer trace(out);
  protozero::pbf_writer written(trace, kPacket);
  written.add_uint64(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(0, time_ns)));
  written.add_uint32(packet::kSequenceId, id_);
  if (started_) {
    written.add_uint32(packet::kSequenceFlags, packet::kNeedsState);
  } else {
    started_ = true;
    written.add_uint32(packet::kSequenceFlags, packet::kStateCleared | packet::kNeedsState);
    written.add_bool(packet::kFirstOnSequence, true);
    protozero::pbf_writer packet_defaults(written, packet::kDefaults);
    packet_defaults.add_uint32(defaults::kTimestampClockId, clock_id_);
    protozero::pbf_writer event_defaults(packet_defaults, defaults::kTrackEvent);
    event_defaults.add_uint64(event::kTrackUuid, track_uuid_);
  }
  if (!definitions_.empty()) {
    written.add_message(packet::kInternedData, definitions_);
    definitions_.clear();
  }
  written.add_message(packet::kTrackEvent, track_event);
}

}  // namespace kymo::convert
