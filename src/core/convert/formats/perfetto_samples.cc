#include "convert/formats/perfetto_samples.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "base/utf8.h"
#include "convert/perfetto_fields.h"

namespace kymo::convert {

using namespace perfetto;

namespace {

void add_string(std::string& data, uint32_t field, uint64_t iid, const std::string& text) {
  std::string room;
  const std::string_view valid = base::valid_utf8(text, room);
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, field);
  entry.add_uint64(interned::kIid, iid);
  entry.add_bytes(interned::kName, valid.data(), valid.size());
}

}  // namespace

uint64_t PerfettoSamples::name(std::string& data, const std::string& function) {
  const auto [known, is_new] = names_.try_emplace(function, names_.size() + 1);
  if (is_new) add_string(data, interned::kFunctionNames, known->second, function);
  return known->second;
}

uint64_t PerfettoSamples::mapping(std::string& data, const std::string& module) {
  const auto [known, is_new] = mappings_.try_emplace(module, mappings_.size() + 1);
  if (!is_new) return known->second;
  add_string(data, interned::kMappingPaths, known->second, module);
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, interned::kMappings);
  entry.add_uint64(interned::kIid, known->second);
  entry.add_uint64(code_mapping::kPathIds, known->second);
  return known->second;
}

uint64_t PerfettoSamples::frame(std::string& data, const symbols::Frame& one) {
  const std::pair key(name(data, one.function), mapping(data, one.module));
  const auto [known, is_new] = frames_.try_emplace(key, frames_.size() + 1);
  if (!is_new) return known->second;
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, interned::kFrames);
  entry.add_uint64(interned::kIid, known->second);
  entry.add_uint64(stack_frame::kFunctionName, key.first);
  entry.add_uint64(stack_frame::kMapping, key.second);
  return known->second;
}

void PerfettoSamples::define_stack(std::string& data, uint64_t iid, const std::vector<symbols::Frame>& frames) {
  std::vector<uint64_t> ids;  // outermost first
  for (size_t i = frames.size(); i-- > 0;) ids.push_back(frame(data, frames[i]));
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, interned::kCallstacks);
  entry.add_uint64(interned::kIid, iid);
  for (const uint64_t id : ids) entry.add_uint64(callstack::kFrameIds, id);
}

void PerfettoSamples::append(std::string& out, const Place& place, int64_t time_ns, memory::StackId stack,
                             SampleNotes& notes) {
  const uint64_t iid = uint64_t{stack} + 1;
  std::string data;
  if (stacks_.insert(iid).second) define_stack(data, iid, notes.frames(stack));
  protozero::pbf_writer trace(out);
  protozero::pbf_writer written(trace, kPacket);
  written.add_uint64(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(0, time_ns)));
  written.add_uint32(packet::kSequenceId, sequence_);
  if (begun_) {
    written.add_uint32(packet::kSequenceFlags, packet::kNeedsState);
  } else {
    begun_ = true;
    written.add_uint32(packet::kSequenceFlags, packet::kStateCleared | packet::kNeedsState);
    written.add_bool(packet::kFirstOnSequence, true);
    protozero::pbf_writer packet_defaults(written, packet::kDefaults);
    packet_defaults.add_uint32(defaults::kTimestampClockId, clock_id_);
    constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
    protozero::pbf_writer of_samples(packet_defaults, defaults::kPerfSample);
    protozero::pbf_writer base(of_samples, perf_defaults::kTimebase);
    base.add_uint64(timebase::kFrequency, kNanosecondsPerSecond / period_ns_);
    base.add_uint32(timebase::kCounter, timebase::kCpuClock);
  }
  if (!data.empty()) written.add_message(packet::kInternedData, data);
  protozero::pbf_writer sample(written, packet::kPerfSample);
  sample.add_uint32(perf_sample::kPid, static_cast<uint32_t>(place.group->pid));
  sample.add_uint32(perf_sample::kTid, static_cast<uint32_t>(place.tid));
  sample.add_uint64(perf_sample::kCallstack, iid);
}

}  // namespace kymo::convert
