#include "convert/copy.h"

#include <map>
#include <vector>

#include "kymo/error.h"

namespace kymo::convert {
namespace {

template <class Value>
std::vector<Value> values_of(const std::map<uint32_t, Value>& map) {
  std::vector<Value> values;
  for (const auto& [id, value] : map) values.push_back(value);
  return values;
}

// Records that an event refers to come before the event.
void introduce(const trace::WriterInfo& info, trace::Writer& into) {
  into.origin(info.id, info.origin);
  for (const auto& [id, clock] : info.clocks) into.clock(info.id, clock);
  into.tracks(info.id, values_of(info.tracks));
  into.classes(info.id, values_of(info.classes));
  into.stacks(info.id, values_of(info.modules), values_of(info.frames), values_of(info.stacks));
}

void finish(const trace::WriterInfo& info, uint64_t unreadable, trace::Writer& into) {
  std::vector<trace::Loss> losses = info.losses;
  if (unreadable != 0)
    losses.push_back(
        {trace::LossCause::DamagedRecord, 0, unreadable, 0, 0, "parts of the original trace that could not be read"});
  into.losses(info.id, losses);
  into.costs(info.id, values_of(info.costs));
  if (info.ending) into.ending(info.id, *info.ending);
}

}  // namespace

void copy_trace(const trace::Reader& reader, trace::Writer& writer,
                const std::function<void(trace::WriterInfo&)>& change) {
  for (const auto& [id, info] : reader.writers()) {
    if (!change) {
      introduce(info, writer);
      continue;
    }
    trace::WriterInfo changed = info;
    change(changed);
    introduce(changed, writer);
  }
  std::map<trace::WriterId, uint64_t> unreadable;
  if (!reader.writers().empty()) unreadable[reader.writers().begin()->first] = reader.problems().size();
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    try {
      reader.read(chunk, batch);
    } catch (const Error&) {
      ++unreadable[chunk.writer];
      continue;
    }
    writer.events(chunk.writer, batch);
  }
  for (const auto& [id, info] : reader.writers()) finish(info, unreadable[id], writer);
}

}  // namespace kymo::convert
