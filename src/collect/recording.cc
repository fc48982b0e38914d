#include "collect/recording.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/text.h"
#include "collect/collector.h"
#include "collect/folders.h"
#include "collect/options.h"
#include "collect/recover.h"
#include "collect/refusals.h"
#include "kymo/error.h"
#include "record/cut_guard.h"
#include "record/segment.h"

namespace kymo::collect {

// What the thread of the recording knows about one recorded process.
struct Recorded {
  FoundSegment segment;
  Source* source = nullptr;
};

struct Recording::Impl {
  Impl(const std::string& path_in, const SessionOptions& options_in, Existing existing)
      : path(path_in),
        options(checked(options_in)),
        session(new_session_id()),
        refusals(session),
        replaced(existing == Existing::Replace ? path_in : ""),
        collector(std::make_unique<Output>(
                      path_in, existing == Existing::Append ? trace::Writer::Mode::Append : trace::Writer::Mode::Create,
                      flight_options(options), to_hex(session.bytes)),
                  [this](Collector&, bool is_last) {
                    for (const Refusal& refusal : refusals.take()) collector.add_refused(refusal.pid, refusal.why);
                    if (is_last) refusals.close();  // first: a program that starts after discover() must not record
                    discover();
                  }) {
    announce();
    replaced.remove();
    home = record::home_of(segment_folder().c_str());  // throws here and not in the recorded program
    remove_spent_segments();
    collector.start();
  }

  // If this process is killed before a program has joined, the file still contains its session.
  void announce() {
    trace::WriterId nobody;
    std::copy(std::begin(session.bytes), std::end(session.bytes), nobody.bytes.begin());
    collector.announce(nobody);
  }

  // Adds new segments of this session. Segments whose process has ended are drained and removed.
  void discover() {
    auto found = find_segments(
        [this](const record::SegmentHeader& header) {
          return std::memcmp(header.session, session.bytes, sizeof header.session) == 0;
        },
        {.seen = &seen});
    for (FoundSegment& segment : found) {
      if (!record::lock_segment(segment.mapping.fd, record::Holder::Collector)) {
        record::unmap_segment(segment.mapping);  // someone is recovering it into this file
        continue;
      }
      record::guard_against_cuts(segment.mapping, record::Side::Collector);
      auto source = std::make_unique<Source>(*segment.mapping.header, origin_of(*segment.mapping.header),
                                             Source::From::Beginning, segment.mapping.geometry);
      known.push_back({segment, source.get()});
      collector.add(std::move(source));
    }
    for (Recorded& recorded : known) {
      if (record::was_cut(recorded.segment.mapping)) recorded.source->lose_segment();
      if (record::owner_is_alive(recorded.segment.mapping.fd, *recorded.segment.mapping.header)) {
        recorded.source->saw_alive();
        continue;
      }
      collector.remove(*recorded.source);
      recorded.source = nullptr;
      unlink(recorded.segment.path.c_str());
      record::unmap_segment(recorded.segment.mapping);
    }
    std::erase_if(known, [](const Recorded& recorded) { return recorded.source == nullptr; });
  }

  std::string path;
  SessionOptions options;
  SessionId session;
  Refusals refusals;
  LeftOver replaced;
  record::Home home;
  std::vector<Recorded> known;  // processes that still run; only the collector's thread uses it
  std::set<std::string> seen;   // names of segments that were inspected
  Collector collector;
};

Recording::Recording(const std::string& path, const SessionOptions& options, Existing existing)
    : impl_(std::make_unique<Impl>(path, options, existing)) {}

Recording::~Recording() = default;

std::vector<std::pair<std::string, std::string>> Recording::environment() const {
  const trace::Writer& file = impl_->collector.output().file();
  const record::Home& home = impl_->home;
  // A flight recorder has another file after each dump, so only its path identifies it.
  const bool stays = !impl_->collector.output().is_flight();
  return {{"KYMO_SESSION", to_hex(impl_->session.bytes)},
          {"KYMO_SESSION_FILE",
           base::format("{}:{}:{}", stays ? file.device() : 0, stays ? file.inode() : 0, absolute_path(impl_->path))},
          {"KYMO_SESSION_HOME", base::format("{}:{}:{}:{}:{}:{}", home.device, home.inode, home.root_device,
                                             home.root_inode, home.mounts, home.network)},
          {"KYMO_POLICY", policy_name(impl_->options.policy)},
          {"KYMO_RING_BYTES", std::to_string(impl_->options.ring_bytes)}};
}

Progress Recording::progress() const { return impl_->collector.progress(); }

void Recording::dump(const std::string& path) { impl_->collector.dump(path); }

Progress Recording::finish() {
  impl_->collector.stop();
  // Processes that still run were told to stop recording. Their data is in the file.
  for (const Recorded& recorded : impl_->known) unlink(recorded.segment.path.c_str());
  Progress progress = impl_->collector.progress();
  std::error_code moved;  // set if someone moved the file while it was written
  const uintmax_t bytes = std::filesystem::file_size(progress.file, moved);
  if (!moved) progress.bytes = bytes;
  progress.is_elsewhere = !impl_->collector.output().is_at_path();
  return progress;
}

}  // namespace kymo::collect
