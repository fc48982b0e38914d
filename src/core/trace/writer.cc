#include "trace/writer.h"

#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/append_file.h"
#include "trace/event_codec.h"
#include "trace/format.h"
#include "trace/index.h"
#include "trace/records.h"

namespace kymo::trace {

namespace {

constexpr size_t kChunksPerIndex = 4096;

}  // namespace

struct Writer::Impl {
  Impl(const std::string& path, Mode mode, const std::string& name)
      : file(path, mode == Mode::Create ? AppendFile::Existing::Replace : AppendFile::Existing::Append, name) {}
  ~Impl() {
    try {
      close();
    } catch (const Error&) {
      // A caller that needs the error calls close().
    }
  }

  // A chunk is built in `chunk`, after the space for its header: begin, append the payload, finish, then append the
  // chunk.
  ChunkHeader begin(ChunkType type, const WriterId& writer) {
    chunk.clear();
    chunk.extend(kHeaderBytes);
    ChunkHeader header;
    header.type = type;
    header.writer = writer;
    return header;
  }
  base::Bytes finish(ChunkHeader& header) {
    chunk.pad_to_multiple_of(kAlignment);
    const base::Bytes payload = chunk.bytes().subspan(kHeaderBytes);
    if (payload.size() > kMaxPayloadBytes) {
      throw InvalidArgument(base::format("cannot write a chunk of {} bytes to {}: at most {}, write it in parts",
                                         payload.size(), file.path(), kMaxPayloadBytes));
    }
    header.payload_length = payload.size();
    header.payload_hash = base::hash(payload);
    store_header(header, chunk.data());
    return chunk.bytes();
  }
  void append(ChunkHeader& header) {
    const base::Bytes bytes = finish(header);
    const uint64_t at = file.append(bytes);
    if (at != end) pending.clear();  // others wrote in between, and an index must not have gaps
    end = at + bytes.size();
    written += bytes.size();
    pending.push_back(header);
    if (pending.size() >= kChunksPerIndex) index_quietly();
  }
  // The chunk before the index is already written. If the caller saw an error, it would write the chunk again.
  void index_quietly() {
    try {
      index();
    } catch (const Error&) {
      pending.clear();  // readers walk chunks that no index covers
    }
  }
  template <typename T>
  void records(ChunkType type, const WriterId& writer, std::span<const T> values) {
    if (values.empty()) return;
    ChunkHeader header = begin(type, writer);
    write_records(chunk, values);
    append(header);
  }

  void index() {
    if (pending.empty()) return;
    ChunkHeader header = begin(ChunkType::Index, pending.back().writer);
    write_index(chunk, pending, compressor);
    const base::Bytes bytes = finish(header);
    if (file.append_at(end, bytes)) {
      end += bytes.size();
      written += bytes.size();
    }
    pending.clear();
  }
  void close() {
    if (closed) return;
    index();
    file.close();
    closed = true;
  }

  AppendFile file;
  base::ByteWriter chunk;
  EventEncoder encoder;
  PlaneWriter compressor;
  std::vector<ChunkHeader> pending;  // chunks that are not in an index yet and lie directly before `end`
  uint64_t end = 0;                  // the end of the last chunk
  uint64_t written = 0;
  bool closed = false;
};

Writer::Writer(const std::string& path, Mode mode, const std::string& name)
    : impl_(std::make_unique<Impl>(path, mode, name)) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::origin(const WriterId& writer, const Origin& origin) {
  impl_->records<Origin>(ChunkType::Origin, writer, {&origin, 1});
}

void Writer::classes(const WriterId& writer, std::span<const EventClass> classes) {
  impl_->records(ChunkType::Classes, writer, classes);
}

void Writer::tracks(const WriterId& writer, std::span<const Track> tracks) {
  impl_->records(ChunkType::Tracks, writer, tracks);
}

void Writer::clock(const WriterId& writer, const ClockDomain& clock) {
  impl_->records<ClockDomain>(ChunkType::Clock, writer, {&clock, 1});
}

void Writer::events(const WriterId& writer, const EventBatch& batch) {
  ChunkHeader header = impl_->begin(ChunkType::Events, writer);
  impl_->encoder.encode(batch, header, impl_->chunk);
  impl_->append(header);
}

void Writer::stacks(const WriterId& writer, std::span<const Module> modules, std::span<const Frame> frames,
                    std::span<const Stack> stacks) {
  if (modules.empty() && frames.empty() && stacks.empty()) return;
  base::ByteWriter records, packed;
  write_records(records, modules);
  write_records(records, frames);
  write_records(records, stacks);
  const bool is_packed = impl_->compressor.write(records.bytes(), packed) == PlaneStorage::Zstd &&
                         records.size() <= kMaxPayloadBytes && records.size() <= packed.size() * kMaxPackedRatio;
  ChunkHeader header = impl_->begin(ChunkType::Stacks, writer);
  if (is_packed) {
    header.version = kPackedVersion;
    impl_->chunk.fixed(static_cast<uint32_t>(records.size()));
    impl_->chunk.fixed(static_cast<uint32_t>(packed.size()));
  }
  impl_->chunk.append(is_packed ? packed.bytes() : records.bytes());
  impl_->append(header);
}

void Writer::losses(const WriterId& writer, std::span<const Loss> losses) {
  impl_->records(ChunkType::Losses, writer, losses);
}

void Writer::costs(const WriterId& writer, std::span<const Cost> costs) {
  impl_->records(ChunkType::Costs, writer, costs);
}

void Writer::window(const WriterId& writer, const Window& window) {
  impl_->records<Window>(ChunkType::Window, writer, {&window, 1});
}

void Writer::ending(const WriterId& writer, const Ending& ending) {
  impl_->records<Ending>(ChunkType::Ending, writer, {&ending, 1});
}

void Writer::append_chunks(base::Bytes chunks) {
  impl_->end = impl_->file.append(chunks) + chunks.size();
  impl_->written += chunks.size();
  impl_->pending.clear();  // an index covers only chunks directly before it
}

void Writer::index() { impl_->index(); }
void Writer::cut_torn_end(uint64_t whole, uint64_t file_size) { impl_->file.cut(whole, file_size); }

void Writer::abandon() noexcept { impl_->file.abandon(); }

void Writer::close() { impl_->close(); }

uint64_t Writer::bytes_written() const { return impl_->written; }
uint64_t Writer::device() const { return impl_->file.device(); }
uint64_t Writer::inode() const { return impl_->file.inode(); }
const std::string& Writer::path() const { return impl_->file.path(); }

}  // namespace kymo::trace
