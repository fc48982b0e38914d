#include "serve/view.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "analyze/memory/stacks.h"
#include "kymo/error.h"
#include "serve/api.h"

namespace kymo::serve {

namespace {

constexpr int kBuilderNiceness = 10;

}  // namespace

View::View(std::vector<trace::Reader> readers, const ViewLimits& limits, Reopen reopen)
    : limits_(limits), reopen_(std::move(reopen)), sketches_(limits.sketch_bytes), decoded_(limits.decoded_bytes) {
  for (trace::Reader& reader : readers) sources_.push_back(std::make_unique<Source>(std::move(reader), names_));
  add_tracks();
  if (limits_.build_ahead) builder_ = std::thread([this] { build(); });
}

View::~View() {
  stopping_ = true;
  {
    const std::lock_guard lock(build_mutex_);
    build_wake_.notify_all();
  }
  if (builder_.joinable()) builder_.join();
}

void View::add_tracks() {
  const std::lock_guard lock(track_mutex_);
  ids_.resize(sources_.size());
  name_bits_.resize(sources_.size());
  troubles_.resize(sources_.size());
  problems_.resize(sources_.size());
  for (uint32_t file = 0; file < sources_.size(); ++file) {
    for (size_t i = ids_[file].size(); i < sources_[file]->tracks().size(); ++i) {
      ids_[file].push_back(static_cast<uint32_t>(tracks_.size()));
      tracks_.push_back({file, TrackRef::Kind::Track, static_cast<uint32_t>(i)});
    }
    name_bits_[file].resize(sources_[file]->chunks().size());
  }
  unfinished_.clear();
}

std::optional<TrackRef> View::find_track(uint32_t id) const {
  const std::lock_guard lock(track_mutex_);
  return id < tracks_.size() ? std::optional(tracks_[id]) : std::nullopt;
}

uint32_t View::track_id(uint32_t file, size_t track) const {
  const std::lock_guard lock(track_mutex_);
  return ids_[file][track];
}

std::vector<Counter> View::counters() const {
  const std::lock_guard lock(track_mutex_);
  return counters_;
}

std::optional<Counter> View::counter(uint32_t position) const {
  const std::lock_guard lock(track_mutex_);
  return position < counters_.size() ? std::optional(counters_[position]) : std::nullopt;
}

void View::note_chunk(uint32_t file, uint32_t chunk, const Sketch& sketch) {
  const std::lock_guard lock(track_mutex_);
  if (name_bits_[file][chunk] != 0) return;
  name_bits_[file][chunk] = sketch.name_bits | kNamesAreKnown;
  const Source& source = *sources_[file];
  const trace::WriterId& writer = source.reader().event_chunks()[chunk].writer;
  std::map<uint32_t, uint64_t> classes;
  for (const CounterBin& bin : sketch.counters) classes[bin.class_id] += bin.count;
  for (const auto& [class_id, values] : classes) {
    const uint32_t name_id = source.class_of(writer, class_id).name;
    const auto [known, is_new] =
        by_counter_.try_emplace({file, writer, name_id}, static_cast<uint32_t>(counters_.size()));
    if (is_new) {
      const NameTable::Entry name = names_.entry(name_id);
      Counter& counter = counters_.emplace_back();
      counter.id = static_cast<uint32_t>(tracks_.size());
      counter.file = file;
      counter.writer = writer;
      counter.group = source.tracks()[source.chunks()[chunk].track].group;
      counter.name = name.text;
      counter.category = name.category;
      tracks_.push_back({file, TrackRef::Kind::Counter, known->second});
      ++version_;
    }
    Counter& counter = counters_[known->second];
    counter.values += values;
    if (std::ranges::find(counter.classes, class_id) == counter.classes.end()) counter.classes.push_back(class_id);
    const auto place = std::ranges::lower_bound(counter.chunks, chunk);
    if (place == counter.chunks.end() || *place != chunk) counter.chunks.insert(place, chunk);
  }
}

bool View::may_have(uint32_t file, uint32_t chunk, uint64_t name_bits) const {
  const std::lock_guard lock(track_mutex_);
  const uint64_t known = name_bits_[file][chunk];
  return known == 0 || (known & name_bits) != 0;
}

void View::set_trouble(uint32_t file, const std::string& text) {
  const std::lock_guard lock(track_mutex_);
  if (troubles_[file] == text) return;
  troubles_[file] = text;
  ++version_;
}

void View::note_problem(uint32_t file, uint32_t chunk, const std::string& what) {
  const std::lock_guard lock(track_mutex_);
  if (problems_[file].size() < kMaxProblems && problems_[file].try_emplace(chunk, what).second) ++version_;
}

std::vector<std::string> View::problems(uint32_t file) const {
  const std::lock_guard lock(track_mutex_);
  std::vector<std::string> all;
  for (const auto& [chunk, problem] : problems_[file]) all.push_back(problem);
  return all;
}

std::vector<std::string> View::troubles() const {
  const std::lock_guard lock(track_mutex_);
  return troubles_;
}

uint64_t View::file_size(uint32_t file) const {
  const Lock files = lock();
  return sources_[file]->reader().file_size();
}

std::shared_ptr<const Sketch> View::cached_sketch(uint32_t file, uint32_t chunk) {
  return sketches_.find(key(file, chunk));
}

std::shared_ptr<const Sketch> View::sketch(uint32_t file, uint32_t chunk) {
  if (auto found = cached_sketch(file, chunk)) return found;
  auto made = std::make_shared<Sketch>();
  try {
    *made = sources_[file]->sketch(chunk);
  } catch (const Error& error) {
    note_problem(file, chunk, error.what());
    made->damaged = true;
  }
  note_chunk(file, chunk, *made);
  sketches_.put(key(file, chunk), made, made->bytes());
  return made;
}

std::shared_ptr<const DecodedChunk> View::decoded(uint32_t file, uint32_t chunk) {
  if (auto found = decoded_.find(key(file, chunk))) return found;
  auto made = std::make_shared<DecodedChunk>();
  try {
    *made = sources_[file]->decode(chunk);
  } catch (const Error&) {
    made->damaged = true;
  }
  decoded_.put(key(file, chunk), made, made->bytes());
  return made;
}

std::vector<Item> View::unfinished(uint32_t file, size_t track) {
  {
    const std::lock_guard lock(track_mutex_);
    const auto found = unfinished_.find(key(file, static_cast<uint32_t>(track)));
    if (found != unfinished_.end()) return found->second;
  }
  std::vector<Item> items;
  try {
    items = sources_[file]->unfinished(track);
  } catch (const Error&) {
    // the chunk is damaged, which tiles report
  }
  const std::lock_guard lock(track_mutex_);
  return unfinished_[key(file, static_cast<uint32_t>(track))] = std::move(items);
}

bool View::refresh(const IsBeingWritten& is_being_written) {
  std::vector<bool> written;  // asked before the lock, because it takes a while
  for (uint32_t file = 0; file < sources_.size(); ++file)
    written.push_back(is_being_written ? is_being_written(file) : sources_[file]->reader().is_being_written());
  const std::unique_lock lock(mutex_);
  bool more = false;
  for (uint32_t file = 0; file < sources_.size(); ++file) {
    Source* const source = sources_[file].get();
    const uint32_t generation = source->generation();
    const size_t chunks = source->chunks().size();
    if (!source->refresh(written[file])) continue;
    more = true;
    if (source->generation() == generation && source->chunks().size() >= chunks) continue;
    sketches_.clear();
    decoded_.clear();
    const std::lock_guard tracks(track_mutex_);
    for (auto& bits : name_bits_) std::fill(bits.begin(), bits.end(), 0);
    for (Counter& counter : counters_) {
      counter.chunks.clear();
      counter.values = 0;
    }
  }
  if (!more) return false;
  add_tracks();
  ++version_;
  const std::lock_guard build(build_mutex_);
  more_to_build_ = to_derive_ = true;
  scanned_ = built_ = false;
  build_wake_.notify_all();
  return true;
}

void View::wait_until_built() {
  std::unique_lock lock(build_mutex_);
  build_wake_.wait(lock, [&] { return built_ || stopping_; });
}

// False: the chunk does not exist any more.
bool View::build_one(uint32_t file, uint32_t chunk) {
  const Lock files = lock();
  if (chunk >= sources_[file]->chunks().size()) return false;
  if (sources_[file]->chunks()[chunk].track == Source::kNoTrack) return true;
  const bool has_points = sources_[file]->reader().event_chunks()[chunk].point_count > 0;
  const bool has_room = sketches_.used() < sketches_.limit() / 8 * 7;
  bool is_noted = false;
  {
    const std::lock_guard lock(track_mutex_);
    is_noted = name_bits_[file][chunk] != 0;
  }
  if (has_room ? cached_sketch(file, chunk) == nullptr : has_points && !is_noted) sketch(file, chunk);
  return true;
}

void View::build() {
  // Whoever looks at the page goes first: on a busy machine the browser needs the processors.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kBuilderNiceness);
  while (!stopping_) {
    for (const bool points : {true, false}) {  // counters are tracks of their own, so they come first
      for (uint32_t file = 0; file < sources_.size(); ++file) {
        for (uint32_t chunk = 0; !stopping_; ++chunk) {
          while (busy_ > 0 && !stopping_) std::this_thread::sleep_for(std::chrono::microseconds(200));
          if (points) {
            const Lock files = lock();
            const auto& chunks = sources_[file]->reader().event_chunks();
            while (chunk < chunks.size() && chunks[chunk].point_count == 0) ++chunk;
          }
          if (!build_one(file, chunk)) break;
        }
      }
      if (!points) continue;
      scanned_ = true;
      ++version_;  // what was shown of a counter before may lack values
    }
    derive_all();
    std::unique_lock lock(build_mutex_);
    built_ = true;
    more_to_build_ = false;
    ++version_;
    build_wake_.notify_all();
    const auto is_needed = [&] { return more_to_build_ || stopping_; };
    if (to_derive_)
      build_wake_.wait_until(lock, next_derive_, is_needed);
    else
      build_wake_.wait(lock, is_needed);
  }
}

// ---- Derived tracks
// --------------------------------------------------------------------------------------------------

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
    } catch (const Abandoned&) {
      // the view ends
    }
  }
  const auto now = std::chrono::steady_clock::now();
  next_derive_ = now + 10 * (now - began);
}

void View::derive(uint32_t file) {
  const bool has_memory = has_points(file, kHasAllocations), has_ranges = has_points(file, kHasRangesAcross);
  const auto any_writer = [&](const auto& is) {
    const Lock files = lock();
    return std::ranges::any_of(sources_[file]->reader().writers(),
                               [&](const auto& writer) { return is(writer.second); });
  };
  const bool has_samples = any_writer(memory::SampleStacks::are_in);
  const bool has_states =
      has_samples || any_writer([](const trace::WriterInfo& writer) {
        return std::ranges::any_of(writer.costs, [](const auto& cost) { return cost.second.blocked_ns != 0; });
      });
  FilePlaces places;
  std::string path;
  bool may_have_ranks = false;
  {
    const Lock files = lock();
    places = FilePlaces::of(*sources_[file]);
    path = sources_[file]->reader().path();
    may_have_ranks = sources_[file]->reader().writers().size() > 1;
  }
  if (!has_memory && !has_ranges && !has_states && !may_have_ranks) return;
  const trace::Reader reader = reopen_ ? reopen_(file) : trace::Reader(path);
  const DerivedInput input{reader, places, names_, [this] {
                             if (stopping_) throw Abandoned();
                           }};
  reader.on_read([&](const trace::EventChunk&) { input.check(); });
  if (may_have_ranks) set_derived(file, rank_tracks(input));
  if (has_memory) set_derived(file, memory_tracks(input));
  if (has_samples) set_derived(file, function_tracks(input));
  if (has_states) set_derived(file, state_tracks(input));
  if (has_ranges) set_derived(file, across_threads_tracks(input));
}

void View::set_derived(uint32_t file, std::vector<DerivedTrack> tracks) {
  const std::lock_guard lock(track_mutex_);
  for (DerivedTrack& track : tracks) {
    track.file = file;
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
