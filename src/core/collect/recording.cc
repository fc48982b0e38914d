#include "collect/recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/output_path.h"
#include "base/text.h"
#include "collect/collector.h"
#include "collect/folders.h"
#include "collect/options.h"
#include "collect/recover.h"
#include "collect/refusals.h"
#include "kymo/error.h"
#include "record/interfaces.h"
#include "record/segment.h"
#include "trace/append_file.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace kymo::collect {

// What the thread of the recording knows about one recorded process.
struct Recorded {
  FoundSegment segment;
  Source* source = nullptr;
};

// A trace that is replaced, under another name in its folder until it is known what replaces it. If it cannot be
// renamed, the new trace overwrites it.
class ReplacedTrace {
 public:
  explicit ReplacedTrace(const std::string& path) {
    if (path.empty()) return;
    std::string target;
    try {
      target = base::output_path(path);
    } catch (const Error&) {  // opening it says what is wrong
      return;
    }
    struct stat status {};
    if (::stat(target.c_str(), &status) != 0 || status.st_size == 0 || !is_trace(target) ||
        trace::is_being_written(target))
      return;
    const std::string kept = base::format("{}.replaced-{}", target, getpid());
    if (::rename(target.c_str(), kept.c_str()) != 0) return;
    target_ = target;
    kept_ = kept;
    mode_ = status.st_mode & 07777;
  }
  ~ReplacedTrace() { restore(); }
  ReplacedTrace(const ReplacedTrace&) = delete;
  ReplacedTrace& operator=(const ReplacedTrace&) = delete;

  // The new file exists: it gets the rights of the old one.
  void give_rights() const {
    if (!kept_.empty()) ::chmod(target_.c_str(), mode_);
  }
  bool restore() noexcept {
    if (kept_.empty()) return false;
    const bool is_back = ::rename(kept_.c_str(), target_.c_str()) == 0;
    kept_.clear();
    return is_back;
  }
  void remove() noexcept {
    if (!kept_.empty()) ::unlink(kept_.c_str());
    kept_.clear();
  }

 private:
  static bool is_trace(const std::string& path) {
    std::array<char, trace::kMagic.size()> beginning{};
    std::ifstream file(path, std::ios::binary);
    return file.read(beginning.data(), beginning.size()) &&
           std::memcmp(beginning.data(), trace::kMagic.data(), beginning.size()) == 0;
  }

  std::string target_, kept_;
  mode_t mode_ = 0;
};

struct Recording::Impl {
  Impl(const std::string& path_in, const SessionOptions& options_in, Existing existing)
      : path(path_in),
        options(checked(options_in)),
        session(new_session_id()),
        refusals(session),
        home(record::home_of(segment_folder().c_str())),  // before the file: a failure must not replace a trace
        replaced(existing == Existing::Replace ? path_in : ""),
        replaced_file(existing == Existing::Replace ? path_in : ""),
        collector(std::make_unique<Output>(
                      path_in, existing == Existing::Append ? trace::Writer::Mode::Append : trace::Writer::Mode::Create,
                      flight_options(options), base::hex(session.bytes)),
                  [this](Collector&, bool is_last) {
                    for (const Refusal& refusal : refusals.take()) collector.add_refused(refusal.pid, refusal.why);
                    if (is_last) refusals.close();  // first: a program that starts after discover() must not record
                    discover();
                  }) {
    announce();
    replaced_file.give_rights();
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
      auto source = std::make_unique<Source>(*segment.mapping.header, origin_of(*segment.mapping.header),
                                             Source::From::Beginning, segment.mapping.geometry);
      known.push_back({segment, source.get()});
      collector.add(std::move(source));
    }
    for (Recorded& recorded : known) {
      if (cuda_process == 0) {
        const auto counts =
            record::interface_counts(*recorded.segment.mapping.header, recorded.segment.mapping.geometry,
                                     static_cast<uint32_t>(record::Interface::Cuda));
        if (counts.events + counts.cost_ns != 0)
          cuda_process = static_cast<uint32_t>(recorded.segment.mapping.header->pid);
      }
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
  record::Home home;
  LeftOver replaced;
  ReplacedTrace replaced_file;
  bool is_finished = false;
  std::vector<Recorded> known;  // processes that still run; only the collector's thread uses it
  std::set<std::string> seen;   // names of segments that were inspected
  std::atomic<uint32_t> cuda_process{0};
  Collector collector;
};

Recording::Recording(const std::string& path, const SessionOptions& options, Existing existing)
    : impl_(std::make_unique<Impl>(path, options, existing)) {}

Recording::~Recording() {
  if (!impl_->is_finished) return;
  impl_->replaced.remove();
  impl_->replaced_file.remove();
}

std::vector<std::pair<std::string, std::string>> Recording::environment() const {
  const trace::Writer& file = impl_->collector.output().file();
  const record::Home& home = impl_->home;
  // A flight recorder has another file after each dump, so only its path identifies it.
  const bool stays = !impl_->collector.output().is_flight();
  return {{"KYMO_SESSION", base::hex(impl_->session.bytes)},
          {"KYMO_SESSION_FILE",
           base::format("{}:{}:{}", stays ? file.device() : 0, stays ? file.inode() : 0, absolute_path(impl_->path))},
          {"KYMO_SESSION_HOME", base::format("{}:{}:{}:{}:{}:{}", home.device, home.inode, home.root_device,
                                             home.root_inode, home.mounts, home.network)},
          {"KYMO_POLICY", policy_name(impl_->options.policy)},
          {"KYMO_RING_BYTES", std::to_string(impl_->options.ring_bytes)}};
}

std::string Recording::session() const { return base::hex(impl_->session.bytes); }

void Recording::accompany(Companion& companion) { impl_->collector.accompany(companion); }

uint32_t Recording::cuda_process() const { return impl_->cuda_process; }

Progress Recording::progress() const { return impl_->collector.progress(); }

void Recording::dump(const std::string& path) { impl_->collector.dump(path); }

bool Recording::restore_replaced() {
  if (!impl_->replaced_file.restore()) return false;
  impl_->is_finished = false;  // what dead processes left of it is still needed
  return true;
}

Progress Recording::finish() {
  impl_->is_finished = true;
  impl_->collector.stop();
  // Processes that still run got the request to stop recording. Their data is in the file.
  for (const Recorded& recorded : impl_->known) unlink(recorded.segment.path.c_str());
  Progress progress = impl_->collector.progress();
  std::error_code moved;  // set if someone moved the file while it was written
  const uintmax_t bytes = std::filesystem::file_size(progress.file, moved);
  if (!moved) progress.bytes = bytes;
  progress.is_elsewhere = !impl_->collector.output().is_at_path();
  return progress;
}

}  // namespace kymo::collect
