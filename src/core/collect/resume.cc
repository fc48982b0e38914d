#include "collect/resume.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kymo/error.h"

namespace kymo::collect {
namespace {

// For the last track that owned the ring. Ranges above the limit are possible only if the open ranges are near the
// limit.
uint64_t beyond_limit(const trace::Reader& reader, const trace::EventChunk& last,
                      const std::vector<trace::OpenRange>& open) {
  size_t bytes = 0;
  for (const trace::OpenRange& range : open)
    bytes += range.ints.size() * 10 + range.doubles.size() * 8 + range.text.size();
  if (open.size() < RingDecoder::kMaxNested && bytes < RingDecoder::kMaxNestedValueBytes / 4) return 0;
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

}  // namespace

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
    } catch (const Error&) {  // damaged: the ranges that were open in it have lost their starts
    }
    trace::Track track;
    const auto described = known.tracks.find(chunk->track);
    const bool is_described = described != known.tracks.end();
    if (is_described) track = described->second;
    track.id = chunk->track;
    const uint64_t beyond = beyond_limit(reader, *chunk, batch.closing);
    state.next_track = std::max(state.next_track, chunk->track + 1);
    state.rings[ring] = {chunk->sequence_end, std::move(track), is_described, std::move(batch.closing), beyond};
  }
  state.clocks = known.clocks;
  if (!known.tracks.empty()) state.next_track = std::max(state.next_track, known.tracks.rbegin()->first + 1);
  return state;
}

}  // namespace kymo::collect
