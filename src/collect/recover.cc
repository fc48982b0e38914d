#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "collect/folders.h"
#include "collect/output.h"
#include "collect/recording.h"
#include "collect/source.h"
#include "kymo/error.h"
#include "record/clock.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::collect {
namespace {

// Of the track that had the ring last. Only what is open near the limit can have some beyond it.
uint64_t beyond_limit(const trace::Reader& reader, const trace::EventChunk& last,
                      const std::vector<trace::OpenRange>& open) {
  size_t bytes = 0;
  for (const trace::OpenRange& range : open)
    bytes += range.ints.size() * 10 + range.doubles.size() * 8 + range.text.size();
  if (open.size() < RingDecoder::kMostNested && bytes < RingDecoder::kMostNestedValueBytes / 4) return 0;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (size_t i = chunks.size(); i-- > 0;) {
    const trace::EventChunk& chunk = chunks[i];
    if (chunk.writer != last.writer || chunk.ring != last.ring || chunk.track != last.track) continue;
    trace::EventBatch batch;
    try {
      reader.read(chunk, batch, trace::kPoints);
    } catch (const Error&) {
      continue;
    }
    if (const auto count = RingDecoder::beyond_limit_after(batch.points, chunk.track)) return *count;
  }
  return 0;
}

// Where a writer's rings were when its collector stopped: as its last chunks say.
Resume resume_of(const trace::Reader& reader, const trace::WriterId& writer) {
  Resume state;
  std::map<uint32_t, const trace::EventChunk*> last;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    if (chunk.writer != writer) continue;
    const auto [at, fresh] = last.emplace(chunk.ring, &chunk);
    if (!fresh && chunk.sequence_end >= at->second->sequence_end) at->second = &chunk;
  }
  const auto found = reader.writers().find(writer);
  if (found == reader.writers().end()) return state;
  const trace::WriterInfo& known = found->second;
  for (const auto& [ring, chunk] : last) {
    trace::EventBatch batch;
    try {
      reader.read(*chunk, batch, trace::kOpenStacks);
    } catch (const Error&) {  // damaged: the ranges that were open in it have lost their beginnings
    }
    trace::Track track;
    if (const auto described = known.tracks.find(chunk->track); described != known.tracks.end())
      track = described->second;
    track.id = chunk->track;
    const uint64_t beyond = beyond_limit(reader, *chunk, batch.closing);
    state.rings[ring] = {chunk->sequence_end, std::move(track), std::move(batch.closing), beyond};
  }
  state.clocks = known.clocks;
  if (!known.tracks.empty()) state.next_track = known.tracks.rbegin()->first + 1;
  return state;
}

trace::WriterId writer_of(const record::SegmentHeader& header) {
  trace::WriterId id;
  std::copy(std::begin(header.writer), std::end(header.writer), id.bytes.begin());
  return id;
}

}  // namespace

Recovered recover(const std::string& path) {
  trace::Reader reader(path);
  Recovered result;
  const std::set<std::string> sessions = reader.sessions();
  for (const std::string& session : sessions) {
    for (const std::string& held : abandoned_flight_files(session)) {
      append_file(path, held);
      unlink(held.c_str());
    }
  }
  reader.refresh();
  std::optional<trace::Writer> writer;
  const auto file = [&]() -> trace::Writer& {
    if (!writer) {
      writer.emplace(path, trace::Writer::Mode::Append);
      if (reader.trace_size() < reader.file_size()) writer->cut_torn_end(reader.trace_size(), reader.file_size());
    }
    return *writer;
  };
  auto found = find_segments([&](const record::SegmentHeader& header) {
    return reader.writers().contains(writer_of(header)) || sessions.contains(to_hex(header.session));
  });
  for (FoundSegment& segment : found) {
    record::SegmentHeader& header = *segment.mapping.header;
    const bool claimed = claim(segment.mapping);
    const bool complete = header.closed.load() != 0;
    if (!claimed || complete) {
      if (claimed) unlink(segment.path.c_str());
      if (!claimed && !complete) ++result.live_processes;
      record::unmap_segment(segment.mapping);
      continue;
    }
    const trace::WriterId id = writer_of(header);
    reader.refresh();  // whoever was here before us may have written
    Source source(header, origin_of(header), Source::From::Beginning);
    source.resume(resume_of(reader, id));
    source.introduce(file());
    source.drain(file(), true);
    source.finish(file(), record::nanoseconds(CLOCK_THREAD_CPUTIME_ID));
    file().index();
    result.events += source.events();
    ++result.processes;
    unlink(segment.path.c_str());
    record::unmap_segment(segment.mapping);
  }
  if (writer) {
    writer->close();
    result.bytes = writer->bytes_written();
  }
  return result;
}

}  // namespace kymo::collect
