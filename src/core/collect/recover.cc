#include "collect/recover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "collect/folders.h"
#include "collect/output.h"
#include "collect/source.h"
#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/trace_file.h"
#include "trace/writer.h"

namespace kymo::collect {
namespace {

trace::WriterId writer_of(const record::SegmentHeader& header) {
  trace::WriterId id;
  std::copy(std::begin(header.writer), std::end(header.writer), id.bytes.begin());
  return id;
}

bool is_known(record::SegmentHeader& header) {
  header.file_path[sizeof header.file_path - 1] = '\0';
  return header.file_path[0] != '\0';
}

// The path that the process stored, or another file in the same folder. A flight recorder has another trace file after
// each dump.
std::string path_of_trace(const record::SegmentHeader& header) {
  const auto is_it = [&](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 &&
           (header.file_inode == 0 || (status.st_dev == header.file_device && status.st_ino == header.file_inode));
  };
  if (is_it(header.file_path)) return header.file_path;
  if (header.file_inode == 0) return {};
  std::error_code ignored;
  const auto folder = std::filesystem::path(header.file_path).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (is_it(entry.path())) return entry.path();
  return {};
}

bool is_there(const record::SegmentHeader& header) { return !path_of_trace(header).empty(); }

bool is_named_by(const trace::Reader& reader, const record::SegmentHeader& header) {
  return reader.writers().contains(writer_of(header)) || reader.sessions().contains(base::hex(header.session));
}

// Segments of the processes that are in a trace.
std::vector<FoundSegment> segments_of(const trace::Reader& reader, record::Sharing sharing) {
  return find_segments([&](const record::SegmentHeader& header) { return is_named_by(reader, header); },
                       {.sharing = sharing});
}

// True if the file at `path` is a trace and `names` accepts it. Another recording may have replaced it.
template <typename Names>
bool is_trace_that(const std::string& path, const Names& names) {
  try {
    return names(trace::Reader(path, path, trace::Extent::Recorded));
  } catch (const Error&) {
    return false;
  }
}

// True if this is the trace that the process recorded, or if that trace does not exist any more.
bool belongs_to(record::SegmentHeader& header, const struct stat& file) {
  if (header.file_inode == 0 || (header.file_device == file.st_dev && header.file_inode == file.st_ino)) return true;
  return is_known(header) && !is_there(header);
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw base::file_error("read", path, errno);
  return status;
}

// Appends the chunks that the trace does not have yet. A flight recorder may have dumped to its own path before it was
// killed.
void append_missing_chunks(const std::string& path, const std::string& held) {
  using Key = std::tuple<trace::ChunkType, std::array<uint8_t, 16>, uint64_t, uint64_t>;
  const auto key = [](const trace::ChunkHeader& header) {
    return Key{header.type, header.writer.bytes, header.payload_length, header.payload_hash};
  };
  const trace::TraceFile from(held, held), to(path, path);
  std::multiset<Key> has;
  for (const trace::FoundChunk& chunk : trace::walk_chunks(to, 0, to.size()).chunks) has.insert(key(chunk.header));
  trace::Writer writer(path, trace::Writer::Mode::Append);
  std::vector<std::byte> bytes;
  for (const trace::FoundChunk& chunk : trace::walk_chunks(from, 0, from.size()).chunks) {
    if (const auto found = has.find(key(chunk.header)); found != has.end()) {
      has.erase(found);
      continue;
    }
    if (chunk.header.type == trace::ChunkType::Index) continue;  // the index lists chunks that may be missing here
    bytes.resize(chunk.header.chunk_length());
    if (from.read(chunk.offset, bytes).size() == bytes.size()) writer.append_chunks(bytes);
  }
  writer.close();
}

class Unmapped {
 public:
  explicit Unmapped(record::Mapping& mapping) : mapping_(mapping) {}
  ~Unmapped() { record::unmap_segment(mapping_); }
  Unmapped(const Unmapped&) = delete;
  Unmapped& operator=(const Unmapped&) = delete;

 private:
  record::Mapping& mapping_;
};

// Adds all data that is left in a dead process's segment. Returns the number of events.
uint64_t bring_in(const trace::Reader& reader, const record::Mapping& mapping, trace::Writer& into) {
  record::SegmentHeader& header = *mapping.header;
  Source source(header, origin_of(header), Source::From::Beginning, mapping.geometry);
  source.resume(resume_of(reader, writer_of(header)));
  source.introduce(into);
  source.drain(into, true);
  source.finish(into, base::clock_ns(CLOCK_THREAD_CPUTIME_ID));
  into.index();
  return source.events();
}

}  // namespace

Recovered recover(const std::string& path) {
  trace::Reader reader(path, path, trace::Extent::Recorded);
  const struct stat status = status_of(path);
  Recovered result;
  for (const std::string& session : std::set<std::string>(reader.sessions())) {
    for (const AbandonedFlight& flight : abandoned_flights(segment_folders(), session)) {
      for (const std::string& held : flight.files) {
        append_missing_chunks(path, held);
        unlink(held.c_str());
      }
      flight.remove();
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
  for (FoundSegment& segment : segments_of(reader, record::Sharing::Shared)) {
    const Unmapped at_end(segment.mapping);  // its lock ends too, also if the file cannot be written
    record::SegmentHeader& header = *segment.mapping.header;
    if (!belongs_to(header, status)) {
      result.elsewhere += has_unread(segment.mapping) ? 1 : 0;
    } else {
      const bool claimed = claim(segment.mapping);
      const bool complete = header.closed.load() != 0;
      if (claimed && !complete) {
        file();
        reader.refresh();  // another process that claimed it before us may have written
        result.events += bring_in(reader, segment.mapping, file());
        ++result.processes;
      }
      if (claimed) unlink(segment.path.c_str());
      if (!claimed && !complete) ++result.live_processes;
    }
  }
  if (writer) {
    writer->close();
    result.bytes = writer->bytes_written();
  }
  return result;
}

std::string whole_copy(const std::string& path) {
  std::string copy = (std::filesystem::temp_directory_path() / "kymo-view-XXXXXX").string();
  base::UnfinishedFile unfinished;
  if (!unfinished.make(copy)) throw base::file_error("write", copy, errno);
  try {
    append_file(copy, path);
    trace::Reader reader(copy, copy, trace::Extent::Recorded);
    trace::Writer writer(copy, trace::Writer::Mode::Append);
    if (reader.trace_size() < reader.file_size()) writer.cut_torn_end(reader.trace_size(), reader.file_size());
    for (FoundSegment& segment : segments_of(reader, record::Sharing::Private)) {
      record::SegmentHeader& header = *segment.mapping.header;
      const Unmapped at_end(segment.mapping);
      if (!record::owner_is_alive(segment.mapping.fd, header) && header.closed.load() == 0)
        bring_in(reader, segment.mapping, writer);
    }
    writer.close();
  } catch (...) {
    ::unlink(copy.c_str());
    throw;
  }
  return copy;
}

namespace {

// The same for the files of flight recorders.
void clean_flights(Cleaned& result) {
  for (const AbandonedFlight& flight : abandoned_flights(segment_folders(Whose::Own))) {
    const bool is_recoverable = flight.trace.empty() || is_trace_that(flight.trace, [&](const trace::Reader& reader) {
                                  return reader.sessions().contains(flight.session);
                                });
    if (is_recoverable && !flight.files.empty()) {
      result.kept_flights.push_back({flight.files.front(), flight.trace});
      continue;
    }
    for (const std::string& file : flight.files) {
      struct stat status {};
      if (::stat(file.c_str(), &status) == 0) result.bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    result.removed += flight.files.size();
    flight.remove();
  }
}

}  // namespace

Cleaned clean_segments() {
  Cleaned result;
  auto found = find_segments([](const record::SegmentHeader&) { return true; }, {.whose = Whose::Own});
  for (FoundSegment& segment : found) {
    record::SegmentHeader& header = *segment.mapping.header;
    if (claim(segment.mapping)) {
      const bool known = is_known(header);
      const auto can_be_recovered = [&] {
        const std::string trace = path_of_trace(header);
        return !trace.empty() &&
               is_trace_that(trace, [&](const trace::Reader& reader) { return is_named_by(reader, header); });
      };
      if (!has_unread(segment.mapping) || (known && !can_be_recovered())) {
        struct stat status {};
        ::fstat(segment.mapping.fd, &status);
        ++result.removed;
        result.bytes += static_cast<uint64_t>(status.st_blocks) * 512;
        ::unlink(segment.path.c_str());
      } else {
        result.kept.push_back({header.pid, known ? path_of_trace(header) : ""});
      }
    } else {
      ++result.live;
    }
    record::unmap_segment(segment.mapping);
  }
  clean_flights(result);
  result.of_other_versions = segments_of_other_versions(Whose::Own);
  return result;
}

LeftOver::LeftOver(const std::string& path) noexcept {
  try {
    const struct stat status = status_of(path);
    sessions_ = trace::Reader(path, path, trace::Extent::Recorded).sessions();
    device_ = status.st_dev;
    inode_ = status.st_ino;
  } catch (const std::exception&) {  // not a trace, or not found
  }
}

void LeftOver::remove() noexcept {
  if (sessions_.empty()) return;
  try {
    const auto is_of_it = [this](const record::SegmentHeader& header) {
      const bool is_its_file = header.file_inode == 0 || (header.file_device == device_ && header.file_inode == inode_);
      return is_its_file && sessions_.contains(base::hex(header.session));
    };
    for (FoundSegment& segment : find_segments(is_of_it)) {
      if (claim(segment.mapping)) unlink(segment.path.c_str());
      record::unmap_segment(segment.mapping);
    }
    for (const std::string& session : sessions_)
      for (const AbandonedFlight& flight : abandoned_flights(segment_folders(), session)) flight.remove();
  } catch (const std::exception&) {  // `kymo recover --clean` removes the rest
  }
}

}  // namespace kymo::collect
