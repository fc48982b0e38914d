#include "convert/formats/sample_notes.h"

#include <algorithm>
#include <utility>

#include "analyze/memory/sample_stacks.h"
#include "kymo/error.h"

namespace kymo::convert {

using memory::SampleStacks;

std::string frames_text(const std::vector<symbols::Frame>& frames) {
  constexpr size_t kMostFrames = 64;
  std::string text;
  for (size_t i = 0; i < std::min(frames.size(), kMostFrames); ++i) {
    if (i != 0) text += " < ";
    text += frames[i].function.empty() ? "?" : frames[i].function;
  }
  if (frames.size() > kMostFrames) text += " < …";
  return text;
}

SampleNotes::SampleNotes(const trace::Reader& reader) {
  SampleStacks samples(stacks_);
  trace::EventBatch batch;
  uint64_t next = 1;  // Event::number of the first point of a chunk
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const uint64_t first = std::exchange(next, next + chunk.point_count);
    const auto writer = reader.writers().find(chunk.writer);
    if (chunk.point_count == 0 || writer == reader.writers().end() || !SampleStacks::are_in(writer->second)) continue;
    if (notes_.empty()) period_ns_ = memory::sample_period_ns(reader, writer->second);
    try {
      reader.read(chunk, batch, trace::kPoints | trace::kPointValues);
    } catch (const Error&) {
      continue;  // the walk that follows reports it
    }
    trace::ValueCursor cursor(batch.points.values);
    for (size_t i = 0; i < batch.points.size(); ++i) {
      const auto known = writer->second.classes.find(batch.points.class_id[i]);
      const trace::EventClass* const event_class = known == writer->second.classes.end() ? nullptr : &known->second;
      const SampleStacks::Row& row = cursor.next(event_class);
      if (event_class == nullptr) continue;
      const SampleStacks::Taken taken =
          samples.take(writer->second, chunk.track, *event_class, batch.points.id[i], row);
      const bool is_of_clock = taken.kind == SampleStacks::Kind::Sample;
      if (is_of_clock || taken.has_stack || taken.kind == SampleStacks::Kind::PageFault)
        notes_.push_back({first + i, taken.stack, is_of_clock});
    }
  }
}

const SampleNotes::Note* SampleNotes::find(uint64_t point) const {
  const auto found = std::ranges::lower_bound(notes_, point, {}, &Note::point);
  return found == notes_.end() || found->point != point ? nullptr : &*found;
}

const std::string& SampleNotes::text(memory::StackId stack) {
  const auto [entry, is_new] = texts_.try_emplace(stack);
  if (is_new) entry->second = frames_text(stacks_.frames(stack));
  return entry->second;
}

}  // namespace kymo::convert
