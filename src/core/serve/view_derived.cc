// View: derived tracks.

#include <algorithm>

#include "analyze/memory/sample_stacks.h"
#include "kymo/error.h"
#include "serve/view.h"

namespace kymo::serve {

std::vector<std::shared_ptr<const DerivedTrack>> View::derived() const {
  const std::lock_guard lock(track_mutex_);
  return derived_;
}

std::shared_ptr<const DerivedTrack> View::derived(uint32_t position) const {
  const std::lock_guard lock(track_mutex_);
  return position < derived_.size() ? derived_[position] : nullptr;
}

bool View::has_points(uint32_t file, uint64_t kind_bit) const {
  const std::lock_guard lock(track_mutex_);
  return std::any_of(name_bits_[file].begin(), name_bits_[file].end(),
                     [&](uint64_t bits) { return (bits & kind_bit) != 0; });
}

// A file that grows is read again from its start each time, so that takes at most a tenth of the time.
void View::derive_all() {
  const auto began = std::chrono::steady_clock::now();
  if (!to_derive_ || began < next_derive_) return;
  to_derive_ = false;
  for (uint32_t file = 0; file < sources_.size() && !stopping_; ++file) {
    try {
      derive(file);
    } catch (const Error&) {
      // the file is gone or damaged, which the server reports; the tracks stay as they are
    }
  }
  const auto now = std::chrono::steady_clock::now();
  next_derive_ = now + 10 * (now - began);
}

void View::derive(uint32_t file) {
  const bool has_memory = has_points(file, kHasAllocations), has_ranges = has_points(file, kHasRangesAcross);
  const bool has_samples = [&] {
    const Lock files = lock();
    return std::ranges::any_of(sources_[file]->reader().writers(),
                               [](const auto& writer) { return memory::SampleStacks::are_in(writer.second); });
  }();
  if (!has_memory && !has_ranges && !has_samples) return;
  FilePlaces places;
  std::string path;
  size_t chunks = 0;
  {
    const Lock files = lock();
    places = FilePlaces::of(*sources_[file]);
    path = sources_[file]->reader().path();
    chunks = sources_[file]->chunks().size();
  }
  const trace::Reader reader = reopen_ ? reopen_(file) : trace::Reader(path);
  const auto should_stop = [this] { return stopping_.load(); };
  if (has_memory) set_derived(file, DerivedTrack::Kind::Memory, memory_tracks(reader, places, should_stop));
  if (has_samples) derive_functions(file, reader, places);
  if (!has_ranges) return;
  const auto is_wanted = [&](uint32_t chunk) { return chunk < chunks && may_have(file, chunk, kHasRangesAcross); };
  const auto name_of = [&](const trace::WriterId& writer, uint32_t class_id, const std::string& text) {
    const Lock files = lock();
    const Source::ClassName& known = sources_[file]->class_of(writer, class_id);
    if (known.is_inline) return names_.of_inline(text);
    return known.has_places && !text.empty() ? names_.of_text(text, known.name) : known.name;
  };
  set_derived(file, DerivedTrack::Kind::AcrossThreads,
              across_threads_tracks(reader, places, is_wanted, name_of, should_stop));
}

void View::derive_functions(uint32_t file, const trace::Reader& reader, const FilePlaces& places) {
  const auto should_stop = [this] { return stopping_.load(); };
  const auto name_of = [this](const std::string& function) { return names_.of_inline(function); };
  std::vector<DerivedTrack> tracks = function_tracks(reader, places, name_of, should_stop);
  const Lock files = lock();
  for (DerivedTrack& track : tracks) {
    const SourceTrack& of = sources_[file]->tracks()[track.of_track];
    track.name = (of.name.empty() ? "thread" : of.name) + ": functions";
  }
  set_derived(file, DerivedTrack::Kind::Functions, std::move(tracks));
}

void View::set_derived(uint32_t file, DerivedTrack::Kind kind, std::vector<DerivedTrack> tracks) {
  const std::lock_guard lock(track_mutex_);
  for (DerivedTrack& track : tracks) {
    track.file = file;
    track.kind = kind;
    const auto known =
        std::find_if(derived_.begin(), derived_.end(), [&](const auto& other) { return other->same_place(track); });
    if (known != derived_.end()) {
      track.id = (*known)->id;
      *known = std::make_shared<const DerivedTrack>(std::move(track));
    } else {
      track.id = static_cast<uint32_t>(tracks_.size());
      tracks_.push_back({file, TrackRef::Kind::Derived, static_cast<uint32_t>(derived_.size())});
      derived_.push_back(std::make_shared<const DerivedTrack>(std::move(track)));
    }
    ++version_;
  }
}

}  // namespace kymo::serve
