#include "trace/reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "kymo/error.h"
#include "trace/catalog.h"
#include "trace/clock.h"
#include "trace/event_codec.h"
#include "trace/trace_file.h"
#include "trace/window.h"

namespace kymo::trace {

namespace {

constexpr size_t kForeignBytes = 512;    // enough to identify the kind of file
constexpr size_t kHeadWindow = 4 << 10;  // nearly all heads fit

EventChunk to_event_chunk(const FoundChunk& chunk) {
  const ChunkHeader& header = chunk.header;
  return {.offset = chunk.offset,
          .length = header.chunk_length(),
          .writer = header.writer,
          .track = header.track,
          .ring = header.ring,
          .sequence_begin = header.sequence_begin,
          .sequence_end = header.sequence_end,
          .first = header.first,
          .last = header.last,
          .range_count = header.range_count,
          .point_count = header.point_count};
}

// Buffers that reading events reuses from chunk to chunk. There is one per thread, so that threads can share a Reader.
struct Scratch {
  std::vector<std::byte> bytes;
  EventDecoder decoder;
};

Scratch& scratch() {
  static thread_local Scratch mine;
  return mine;
}

[[noreturn]] void refuse(const TraceFile& file) {
  std::vector<std::byte> room(kForeignBytes);
  const base::Bytes beginning = file.read(0, room);
  const base::Bytes magic = std::as_bytes(std::span(kMagic)).first(std::min(kMagic.size(), beginning.size()));
  if (std::equal(magic.begin(), magic.end(), beginning.begin())) {
    throw Error(base::format("{} is a Kymo trace, but not one of its chunks is whole: it was cut off", file.path()));
  }
  throw Error(base::format("{} is not a Kymo trace: {}", file.path(), describe_foreign(beginning)));
}

}  // namespace

struct Reader::Impl {
  Impl(const std::string& path, const std::string& name, Extent which)
      : file(path, name), file_size(file.size()), extent(which) {
    if (file_size == 0) {
      throw Error(base::format("{} is empty: nothing was recorded, or its recorder has yet to write", name));
    }
    const std::vector<FoundChunk> by_index = chunks_by_index(file, file_size);
    const uint64_t walk_to = by_index.empty() ? file_size : by_index.front().offset;
    take_walk(walk_chunks(file, 0, walk_to));
    if (!by_index.empty()) {
      // The unread end of the walk is not the end of the file, because indexed chunks follow it.
      if (tail) problems.push_back(*std::exchange(tail, std::nullopt));
      for (const FoundChunk& chunk : by_index) take(chunk);
      trace_size = file_size;
      indexed = walk_to == 0;
    }
    if (chunk_count == 0) refuse(file);
    catalog.finish();
    look();
  }

  void take_walk(Walk walk) {
    for (const FoundChunk& chunk : walk.chunks) take(chunk);
    std::move(walk.problems.begin(), walk.problems.end(), std::back_inserter(problems));
    tail = std::move(walk.tail);
    trace_size = walk.end;
  }

  void take(const FoundChunk& chunk) {
    ++chunk_count;
    const ChunkHeader& header = chunk.header;
    const bool events = header.type == ChunkType::Events;
    if (!events && !is_catalog(header.type)) return;
    if (events) catalog.see(header.writer);
    if (header.version > (header.type == ChunkType::Stacks ? kPackedVersion : kVersion)) {
      return leave_out(chunk, base::format("it is of version {}, which only a newer Kymo reads", header.version));
    }
    if (events) return event_chunks.push_back(to_event_chunk(chunk));
    if (header.type == ChunkType::Losses) loss_chunks.push_back(chunk);
    try {
      catalog.add(header, file.payload(chunk, bytes));
    } catch (const Error& error) {
      leave_out(chunk, error.what());
    }
  }

  void leave_out(const FoundChunk& chunk, std::string_view why) {
    problems.push_back({chunk.offset, chunk.header.chunk_length(),
                        base::format("the chunk at {} was left out: {}", chunk.offset, why)});
  }

  // Reads the header again, because the file may have changed.
  FoundChunk find(const EventChunk& chunk) const {
    const auto header = file.header_at(chunk.offset);
    if (!header || header->type != ChunkType::Events || header->chunk_length() != chunk.length) {
      throw Error("it is no longer there");
    }
    return {chunk.offset, *header};
  }

  // Runs `work`. Its errors name the chunk and the file.
  auto about(const EventChunk& chunk, auto&& work) const {
    try {
      return work();
    } catch (const Error& error) {
      throw Error(base::format("{}: the chunk at {} cannot be read: {}", file.path(), chunk.offset, error.what()));
    }
  }

  // Called after each change of the catalog.
  void look() {
    look_through_windows();
    select();
  }

  const std::vector<EventChunk>& chunks_in_windows() const { return view ? view->chunks() : event_chunks; }

  void select() {
    selection.reset();
    if (chosen.empty()) return;
    selection.emplace();
    for (const WriterId& id : chosen)
      if (const auto writer = catalog.writers().find(id); writer != catalog.writers().end())
        selection->writers.insert(*writer);
    for (const EventChunk& chunk : chunks_in_windows())
      if (chosen.contains(chunk.writer)) selection->chunks.push_back(chunk);
  }

  void look_through_windows() {
    view.reset();
    shown_problems = problems;
    if (tail) shown_problems.push_back(*tail);
    if (extent == Extent::Recorded) return;
    const auto& writers = catalog.writers();
    for (Problem& untimed : untimed_events(writers, event_chunks)) shown_problems.push_back(std::move(untimed));
    const bool has_window =
        std::any_of(writers.begin(), writers.end(), [](const auto& w) { return w.second.window.has_value(); });
    if (!has_window) return;
    limit_endings();
    count_losses_inside();
    view.emplace(writers, event_chunks, [this](const EventChunk& chunk, EventBatch& into, unsigned parts) {
      about(chunk, [&] { decode(find(chunk), into, parts); });
    });
    const auto& damaged = view->problems();
    shown_problems.insert(shown_problems.end(), damaged.begin(), damaged.end());
  }

  void limit_endings() {
    for (const auto& [id, writer] : catalog.writers()) {
      const auto host = writer.clocks.find(kHostClock);
      if (!writer.window || writer.window->to_ns == 0 || !writer.ending || host == writer.clocks.end()) continue;
      const ClockMap clock = clock_map(host->second);
      const uint64_t alive_until = writer.ending->alive_until;
      const TickSpan span = ticks_of_window(clock, *writer.window, alive_until, alive_until);
      if (clock.usable() && !span.empty()) catalog.limit_ending(id, span.end);
    }
  }

  void count_losses_inside() {
    std::map<WriterId, TrackClocks> clocks;
    for (const auto& [id, writer] : catalog.writers()) {
      if (!writer.window) continue;
      catalog.forget_losses(id);
      clocks.emplace(id, TrackClocks(writer));
    }
    for (const FoundChunk& chunk : loss_chunks) {
      const auto windowed = clocks.find(chunk.header.writer);
      if (windowed == clocks.end()) continue;
      const Window window = *catalog.writers().at(chunk.header.writer).window;
      try {
        catalog.add_losses(chunk.header.writer, file.payload(chunk, bytes),
                           [&](const Loss& loss) { return is_inside(loss, window, windowed->second); });
      } catch (const Error&) {
        // The problem was reported when the chunk was found.
      }
    }
    catalog.finish();
  }

  void decode(const FoundChunk& found, EventBatch& into, unsigned parts) const {
    Scratch& mine = scratch();
    mine.decoder.decode(file.payload(found, mine.bytes), found.header, parts, into);
  }

  // Reads only the front of the chunk.
  EventHead head(const FoundChunk& found) const {
    const uint64_t offset = found.offset + found.header.header_length;
    std::vector<std::byte>& room = scratch().bytes;
    room.resize(std::min<size_t>(found.header.payload_length, kHeadWindow));
    base::Bytes front = file.read(offset, room);
    const EventPrefix prefix = read_prefix(front);
    const size_t length = kEventPrefixBytes + prefix.head_length;
    if (length > front.size()) {
      if (length > found.header.payload_length) throw Error("its head is longer than itself");
      room.resize(length);
      front = file.read(offset, room);
    }
    return read_head(find_head(front, prefix));
  }

  TraceFile file;
  uint64_t file_size = 0, trace_size = 0;
  size_t chunk_count = 0;
  bool indexed = false;
  bool is_being_written = false;
  std::string unrecovered;
  Extent extent = Extent::Windows;
  Catalog catalog;
  std::vector<EventChunk> event_chunks;  // as they were recorded
  std::vector<FoundChunk> loss_chunks;
  std::optional<WindowView> view;  // none: everything is shown as it was recorded
  struct Selection {
    std::map<WriterId, WriterInfo> writers;
    std::vector<EventChunk> chunks;
  };
  std::set<WriterId> chosen;           // empty: all
  std::optional<Selection> selection;  // what is shown of the chosen writers
  std::vector<Problem> problems;
  std::optional<Problem> tail;          // an incomplete end of the file, which may be complete at the next refresh()
  std::vector<Problem> shown_problems;  // `problems`, `tail` and the problems of the view
  std::vector<std::byte> bytes;
  OnRead on_read;
};

Reader::Reader(const std::string& path) : Reader(path, path) {}
Reader::Reader(const std::string& path, const std::string& name, Extent extent)
    : impl_(std::make_unique<Impl>(path, name, extent)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

bool Reader::refresh() {
  Impl& impl = *impl_;
  const uint64_t size = impl.file.size();
  if (size < impl.trace_size) {
    throw Error(base::format("{} became shorter while it was read: open it again", path()));
  }
  if (size == impl.file_size) return false;
  impl.file_size = size;
  const size_t before = impl.chunk_count;
  impl.take_walk(walk_chunks(impl.file, impl.trace_size, size));
  impl.catalog.finish();
  impl.look();
  return impl.chunk_count > before;
}

void Reader::narrow(const std::map<WriterId, Window>& windows) {
  for (const auto& [id, window] : windows) impl_->catalog.narrow(id, window);
  impl_->look();
}

void Reader::show_only(std::set<WriterId> writers) {
  impl_->chosen = std::move(writers);
  impl_->select();
}

void Reader::on_read(OnRead call) const { impl_->on_read = std::move(call); }

void Reader::read(const EventChunk& chunk, EventBatch& into, unsigned parts) const {
  if (impl_->on_read) impl_->on_read(chunk);
  impl_->about(chunk, [&] {
    const FoundChunk found = impl_->find(chunk);
    const WindowView::Seen* seen = impl_->view ? impl_->view->find(chunk) : nullptr;
    const unsigned needed = seen != nullptr ? seen->parts(parts) : parts;
    if (needed == kOpenStacks) {
      EventHead head = impl_->head(found);
      into = EventBatch();
      into.track = found.header.track;
      into.ring = found.header.ring;
      into.sequence_begin = found.header.sequence_begin;
      into.sequence_end = found.header.sequence_end;
      into.opening = std::move(head.opening);
      into.closing = std::move(head.closing);
    } else {
      impl_->decode(found, into, needed);
    }
    if (seen != nullptr) seen->apply(into, parts);
  });
}

std::vector<DepthSummary> Reader::summaries(const EventChunk& chunk) const {
  const WindowView::Seen* seen = impl_->view ? impl_->view->find(chunk) : nullptr;
  if (seen != nullptr && !seen->all_inside) {
    EventBatch batch;
    read(chunk, batch, kRangeTimes | kRangeDepths);
    return summarise(batch.ranges);
  }
  return impl_->about(chunk, [&] { return impl_->head(impl_->find(chunk)).summaries; });
}

const std::string& Reader::path() const { return impl_->file.path(); }
uint64_t Reader::file_size() const { return impl_->file_size; }
uint64_t Reader::trace_size() const { return impl_->trace_size; }
bool Reader::indexed() const { return impl_->indexed; }
const std::map<WriterId, WriterInfo>& Reader::writers() const {
  return impl_->selection ? impl_->selection->writers : impl_->catalog.writers();
}
const std::set<std::string>& Reader::sessions() const { return impl_->catalog.sessions(); }
bool Reader::is_being_written() const { return impl_->is_being_written; }
void Reader::set_being_written(bool is) { impl_->is_being_written = is; }
const std::string& Reader::unrecovered() const { return impl_->unrecovered; }
void Reader::set_unrecovered(std::string why) { impl_->unrecovered = std::move(why); }
bool Reader::has_unended_session() const {
  const std::set<std::string>& unended = impl_->catalog.unended_sessions();
  if (!impl_->selection) return !unended.empty();
  return std::any_of(writers().begin(), writers().end(),
                     [&](const auto& writer) { return unended.contains(writer.second.origin.session); });
}
const std::vector<EventChunk>& Reader::event_chunks() const {
  return impl_->selection ? impl_->selection->chunks : impl_->chunks_in_windows();
}
const std::vector<Problem>& Reader::problems() const { return impl_->shown_problems; }

}  // namespace kymo::trace
