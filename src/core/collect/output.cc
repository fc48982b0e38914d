#include "collect/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "collect/folders.h"
#include "kymo/error.h"
#include "record/segment.h"
#include "trace/append_file.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kGenerations = 8;
constexpr uint64_t kMaxFlightBytes = 256 << 20;  // the limit of a flight recorder that is limited only by time

constexpr std::string_view kPrefix = "flight-";
constexpr size_t kSessionDigits = 32;

std::string stem_of_this_process(const std::string& folder, const std::string& session) {
  const auto pid = static_cast<uint32_t>(getpid());
  return base::format("{}/{}{}-{}-{}-", folder, kPrefix, session, pid, record::process_identity(pid));
}

struct Name {
  std::string stem;  // the common prefix of all names of one flight recorder
  std::string session;
  uint32_t pid;
  unsigned long long identity;
};

std::optional<Name> parse(const std::string& name) {
  constexpr size_t kNumbers = kPrefix.size() + kSessionDigits;
  if (!name.starts_with(kPrefix) || name.size() < kNumbers) return std::nullopt;
  Name parsed{};
  int used = 0;
  if (std::sscanf(name.c_str() + kNumbers, "-%u-%llu-%n", &parsed.pid, &parsed.identity, &used) != 2 || used == 0)
    return std::nullopt;
  parsed.session = name.substr(kPrefix.size(), kSessionDigits);
  parsed.stem = name.substr(0, kNumbers + static_cast<size_t>(used));
  return parsed;
}

std::string flight_file(const std::string& folder, const std::string& session, unsigned number) {
  return base::format("{}{:08}", stem_of_this_process(folder, session), number);
}

std::string flight_link(const std::string& folder, const std::string& session) {
  return stem_of_this_process(folder, session) + "trace";
}

std::vector<std::byte> contents_of(const std::string& path) {
  const base::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) throw base::file_error("read", path, errno);
  std::vector<std::byte> bytes(base::size_of(file, path));
  bytes.resize(base::read_at(file, path, 0, bytes));
  return bytes;
}

// Nothing: there is none.
std::optional<Clock::time_point> time_of_last_event(const trace::Reader& reader) {
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  std::optional<int64_t> latest;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const auto writer = reader.writers().find(chunk.writer);
    if (writer == reader.writers().end()) continue;
    const trace::ClockMap* const clock =
        clocks.try_emplace(chunk.writer, writer->second).first->second.find(chunk.track);
    if (clock != nullptr) latest = std::max(latest.value_or(0), clock->to_monotonic_ns(chunk.last));
  }
  if (!latest) return std::nullopt;
  return std::min(Clock::now(), Clock::time_point(std::chrono::nanoseconds(*latest)));  // it is CLOCK_MONOTONIC
}

void add_endings(trace::Writer&& writer, const Output::Endings& endings) {
  for (const auto& [id, ending] : endings) writer.ending(id, ending);
  writer.close();
}

}  // namespace

Output::Output(const std::string& path, trace::Writer::Mode mode, const FlightOptions& flight,
               const std::string& session)
    : path_(path), session_(session), flight_(flight) {
  file_.emplace(path, mode);
  if (flight_.on()) begin_generation();
}

Output::~Output() { drop_all(); }

void Output::begin_generation() {
  if (!generations_.empty()) {
    Generation& last = generations_.back();
    last.writer->close();
    copy_on();
    if (copy_) copy_->done = 0;
    last.bytes = last.writer->bytes_written();
    last.writer.reset();
    last.ended = time_of_last_event(trace::Reader(last.path)).value_or(last.began);
  }
  const std::string folder = segment_folder();
  if (link_.empty()) {
    link_ = flight_link(folder, session_);
    // If this fails, the files can still be recovered. They only stay longer if the trace is deleted.
    [[maybe_unused]] const int made = symlink(absolute_path(path_).c_str(), link_.c_str());
  }
  std::string path = flight_file(folder, session_, next_generation_++);
  trace::Writer writer(path, trace::Writer::Mode::Create);
  generations_.push_back({std::move(path), std::move(writer), 0, Clock::now(), {}});
}

void Output::drop_oldest() {
  Generation& oldest = generations_.front();
  oldest.writer.reset();
  unlink(oldest.path.c_str());
  generations_.pop_front();
}

void Output::drop_all() {
  while (!generations_.empty()) drop_oldest();
  if (!link_.empty()) unlink(link_.c_str());
  link_.clear();
}

uint64_t Output::max_flight_bytes() const { return flight_.bytes != 0 ? flight_.bytes : kMaxFlightBytes; }

bool Output::is_rotation_due() {
  if (!flight_.on()) return false;
  Generation& newest = generations_.back();
  if (newest.writer->bytes_written() >= max_flight_bytes() / kGenerations) return true;
  const Clock::time_point now = Clock::now();
  if (flight_.seconds == 0 || now - newest.began < std::chrono::duration<double>(flight_.seconds / (kGenerations - 1)))
    return false;
  if (time_of_last_event(trace::Reader(newest.path))) return true;
  newest.began = now;
  return false;
}

void Output::rotate() {
  begin_generation();
  const uint64_t max_bytes = max_flight_bytes();
  const Clock::time_point latest = std::prev(generations_.end(), 2)->ended;
  while (generations_.size() > 1) {
    const Generation& oldest = generations_.front();
    const bool too_old = flight_.seconds != 0 && latest - oldest.ended > std::chrono::duration<double>(flight_.seconds);
    if (!too_old && bytes() <= max_bytes - max_bytes / kGenerations) break;
    drop_oldest();
  }
}

std::string Output::end_path() const {
  std::error_code unknown;
  if (!was_dumped_ || !std::filesystem::exists(path_, unknown)) return path_;
  std::filesystem::path name(path_);
  return name.replace_extension(".end" + name.extension().string()).string();
}

void Output::dump(const std::string& path, const Endings& endings) {
  if (!flight_.on()) throw Error("there is nothing to dump: this is no flight recorder; the trace is in " + path_);
  generations_.back().writer->index();
  base::AtomicFile file(path);
  for (const Generation& generation : generations_) append_file(file.temporary_path(), generation.path);
  trace::Writer writer(file.temporary_path(), trace::Writer::Mode::Append);
  state_windows(writer);
  add_endings(std::move(writer), endings);
  file.commit();
  was_dumped_ |= path == path_;
}

// The files contain a little more than what is to be kept, and what began long before: waits, ranges.
void Output::state_windows(trace::Writer& writer) const {
  std::optional<Clock::time_point> latest;
  std::set<trace::WriterId> writers;
  for (const Generation& generation : generations_) {
    if ((generation.writer ? generation.writer->bytes_written() : generation.bytes) == 0) continue;
    const trace::Reader reader(generation.path);
    latest = std::max(latest, time_of_last_event(reader));
    for (const auto& [id, info] : reader.writers()) writers.insert(id);
  }
  if (!latest) return;
  Clock::time_point from;
  if (next_generation_ != generations_.size()) from = generations_.front().began;
  if (flight_.seconds != 0)
    from = std::max(
        from, *latest - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(flight_.seconds)));
  const auto from_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(from.time_since_epoch()).count();
  for (const trace::WriterId& id : writers)
    if (from_ns > 0) writer.window(id, {static_cast<uint64_t>(from_ns), 0});
}

void Output::begin_copy(const std::string& path, Clock::time_point from) {
  copy_.emplace(Copy{path});
  try {
    for (const Generation& generation : generations_)
      if (!generation.writer && generation.ended >= from) append_file(path, generation.path);
  } catch (const std::exception&) {
    copy_->failure = std::current_exception();
  }
  copy_on();
}

void Output::copy_on() noexcept {
  if (!copy_ || copy_->failure || generations_.empty()) return;
  const Generation& newest = generations_.back();
  if (newest.writer->bytes_written() == copy_->done) return;
  try {
    copy_->done += append_file(copy_->path, newest.path, copy_->done);
  } catch (const std::exception&) {
    copy_->failure = std::current_exception();
  }
}

void Output::end_copy(const Endings& endings) {
  if (!copy_) throw Error("what the flight recorder gets is not copied");
  copy_on();
  const Copy copy = std::move(*copy_);
  copy_.reset();
  if (copy.failure) std::rethrow_exception(copy.failure);
  add_endings(trace::Writer(copy.path, trace::Writer::Mode::Append), endings);
}

void Output::add_to_file(const std::function<void(trace::Writer&)>& write) {
  if (!flight_.on()) return write(*file_);
  if (!copy_ || copy_->failure) return;
  trace::Writer copy(copy_->path, trace::Writer::Mode::Append);
  write(copy);
  copy.close();
}

void Output::close() {
  if (flight_.on() && was_dumped_) {
    last_dump_ = end_path();
    dump(last_dump_, {});
    forget_flight();
  }
  if (flight_.on() && !generations_.empty()) {
    if (generations_.back().writer) generations_.back().writer->close();
    state_windows(*file_);
  }
  while (flight_.on() && !generations_.empty()) {
    Generation& oldest = generations_.front();
    file_->append_chunks(contents_of(oldest.path));
    drop_oldest();
  }
  drop_all();
  flight_ = {};
  file_->close();
}

bool Output::is_at_path() const {
  struct stat status;
  if (!last_dump_.empty()) return ::stat(last_dump_.c_str(), &status) == 0;
  return ::stat(path_.c_str(), &status) == 0 && status.st_dev == file_->device() && status.st_ino == file_->inode();
}

void Output::forget_flight() {
  drop_all();
  flight_ = {};
}

void Output::abandon() noexcept {
  file_->abandon();
  for (Generation& generation : generations_)
    if (generation.writer) generation.writer->abandon();
}

uint64_t Output::bytes() const {
  if (!flight_.on()) return file_->bytes_written();
  uint64_t sum = 0;
  for (const Generation& generation : generations_)
    sum += generation.writer ? generation.writer->bytes_written() : generation.bytes;
  return sum;
}

void AbandonedFlight::remove() const noexcept {
  for (const std::string& file : files) unlink(file.c_str());
  if (!link.empty()) unlink(link.c_str());
}

std::vector<AbandonedFlight> abandoned_flights(const std::vector<std::string>& folders, const std::string& session) {
  struct Found {
    AbandonedFlight flight;
    bool is_alive = false;
  };
  std::map<std::string, Found> flights;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      const auto name = parse(entry.path().filename());
      if (!name || (!session.empty() && name->session != session)) continue;
      Found& found = flights[folder + "/" + name->stem];
      AbandonedFlight& flight = found.flight;
      flight.session = name->session;
      if (entry.is_symlink(ignored)) {
        flight.link = entry.path();
        flight.trace = std::filesystem::read_symlink(entry.path(), ignored);
      } else {
        flight.files.push_back(entry.path());
        // For a process in another PID namespace: it still holds its newest file.
        found.is_alive |= trace::is_being_written(entry.path());
      }
      found.is_alive |= record::process_identity(name->pid) == name->identity;
    }
  }
  std::vector<AbandonedFlight> abandoned;
  for (auto& [stem, found] : flights) {
    if (found.is_alive) continue;
    std::sort(found.flight.files.begin(), found.flight.files.end());
    abandoned.push_back(std::move(found.flight));
  }
  return abandoned;
}

uint64_t append_file(const std::string& to, const std::string& from, uint64_t offset) {
  const base::FileDescriptor source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) throw base::file_error("read", from, errno);
  const base::FileDescriptor target(open(to.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!target) throw base::file_error("write", to, errno);
  std::vector<std::byte> buffer(1 << 16);
  uint64_t sum = 0;
  while (const size_t got = base::read_at(source, from, offset + sum, buffer)) {
    size_t written = 0;
    const int error = base::write_all(target.get(), std::span(buffer).first(got), written);
    if (error != 0) throw base::file_error("write", to, error);
    sum += got;
  }
  return sum;
}

}  // namespace kymo::collect
