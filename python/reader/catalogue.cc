#include "reader/catalogue.h"

#include <utility>

#include "analyze/operation_name.h"
#include "base/printable.h"

namespace kymo::python {
namespace {

const char* kind_name(trace::TrackKind kind) {
  switch (kind) {
    case trace::TrackKind::Thread:
      return "thread";
    case trace::TrackKind::DeviceQueue:
      return "queue";
    case trace::TrackKind::Process:
      return "process";
  }
  return "unknown";
}

// Ids of classes are small numbers, but a file is untrusted.
constexpr uint32_t kMaxClass = 1 << 24;

}  // namespace

int32_t NameTable::add(std::string_view name) {
  std::string text = base::readable_text(name);
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = numbers_.try_emplace(text, static_cast<int32_t>(names_.size()));
  if (is_new) names_.push_back(std::move(text));
  return found->second;
}

int32_t NameTable::find(std::string_view name) const {
  const std::string text = base::readable_text(name);
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? -1 : found->second;
}

std::vector<std::string> NameTable::all() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

Catalogue::Catalogue(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers()) {
    std::vector<int32_t>& names = class_names_[id];
    for (const auto& [class_id, event_class] : writer.classes) {
      if (class_id >= kMaxClass) continue;
      if (names.size() <= class_id) names.resize(class_id + 1, -1);
      names[class_id] = names_->add(analyze::operation_name(event_class));
    }
    for (const auto& [clock_id, clock] : writer.clocks)
      clocks_.emplace(std::pair(id, clock_id), trace::clock_map(clock));
    for (const auto& [track_id, track] : writer.tracks) {
      static const trace::ClockMap no_clock;
      const auto clock = clocks_.find({id, track.clock});
      places_[{id, track_id}] = {static_cast<int32_t>(tracks_.size()),
                                 clock == clocks_.end() ? &no_clock : &clock->second, &names};
      tracks_.push_back({writer.origin.pid, track.tid, kind_name(track.kind), track.name, track.device()});
    }
  }
}

const Catalogue::Place* Catalogue::find(const trace::EventChunk& chunk) const {
  const auto found = places_.find({chunk.writer, chunk.track});
  return found == places_.end() || !found->second.clock->has_rate() ? nullptr : &found->second;
}

}  // namespace kymo::python
