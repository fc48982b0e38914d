#include "cli/path_output.h"

#include <map>
#include <span>

#include "base/temporary_file.h"
#include "base/version.h"
#include "cli/trace_output.h"
#include "convert/copy.h"
#include "convert/formats/export.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "trace/random_id.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::cli {
namespace {

constexpr uint32_t kClock = 1, kTrack = 1;
constexpr size_t kPerChunk = 32'768;

// The path as the only track of a writer of its own. Its ticks are nanoseconds of the host's clock.
void append_path(trace::Writer& writer, const trace::Reader& reader, const analyze::EventWalk& walk,
                 const analyze::Activity& activity, const std::vector<analyze::PathSegment>& path) {
  const trace::WriterId id = trace::random_writer_id();
  const trace::WriterInfo& main = *walk.tracks()[path.front().track].writer;
  trace::Origin origin = main.origin;
  origin.announces_ending = 0;
  origin.metadata = {{"computed from", reader.path()}};
  writer.origin(id, origin);
  trace::ClockDomain clock;
  clock.id = kClock;
  const auto domain = main.clocks.find(kClock);
  if (domain != main.clocks.end()) {
    clock.boot_id = domain->second.boot_id;
    for (const trace::ClockPair& pair : domain->second.pairs)
      clock.pairs.push_back({pair.monotonic_ns, pair.monotonic_ns, pair.realtime_ns, pair.error_ns});
  }
  writer.clock(id, clock);
  trace::Track track;
  track.id = kTrack;
  track.clock = kClock;
  track.name = "critical path";
  writer.tracks(id, {&track, 1});

  std::map<std::string, uint32_t> classes;
  std::vector<trace::EventClass> made;
  trace::EventBatch batch;
  batch.track = batch.ring = kTrack;
  const auto flush = [&] {
    if (!made.empty()) writer.classes(id, made);
    made.clear();
    batch.sequence_end = batch.sequence_begin + batch.ranges.size();
    writer.events(id, batch);
    batch.sequence_begin = batch.sequence_end;
    batch.ranges = {};
  };
  for (const analyze::PathSegment& segment : path) {
    const analyze::TrackOfTrace& where = walk.tracks()[segment.track];
    std::string name(analyze::text_of(segment.kind));
    if (segment.kind == analyze::PathKind::Operation) {
      const auto known = where.writer->classes.find(activity.operations[segment.operation].class_id);
      if (known != where.writer->classes.end()) name = trace::shown_name(known->second);
    } else if (segment.kind == analyze::PathKind::Host) {
      name = where.name();
    }
    const auto [entry, is_new] = classes.try_emplace(name, static_cast<uint32_t>(classes.size() + 1));
    if (is_new) made.push_back({entry->second, name, "critical path", 0, {}});
    batch.ranges.end.push_back(static_cast<uint64_t>(segment.end));
    batch.ranges.duration.push_back(static_cast<uint64_t>(segment.length()));
    batch.ranges.class_id.push_back(entry->second);
    batch.ranges.depth.push_back(0);
    if (batch.ranges.size() >= kPerChunk) flush();
  }
  flush();
}

}  // namespace

void write_with_path(const trace::Reader& reader, const analyze::EventWalk& walk, const analyze::Activity& activity,
                     const std::vector<analyze::PathSegment>& path, const std::string& input,
                     const std::string& output) {
  const auto write = [&](const std::string& to, const std::string& name) {
    trace::Writer writer(to, trace::Writer::Mode::Append, name);
    convert::copy_trace(reader, writer);
    append_path(writer, reader, walk, activity, path);
    writer.close();
  };
  refuse_input(output, {input});
  if (output.ends_with(".kymo")) {
    TraceOutput file(output, {input});
    write(file.temporary_path(), output);
    return file.commit();
  }
  const base::TemporaryFile copy;
  write(copy.path(), copy.name());
  try {
    convert::export_trace(trace::Reader(copy.path(), input), output);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("path", error.what());
  }
}

}  // namespace kymo::cli
