#include "serve/saved_page.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/memory/profile.h"
#include "analyze/memory/replay.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "convert/export_stream.h"
#include "kymo/error.h"
#include "serve/embedded.h"
#include "serve/tiles.h"
#include "symbols/short_name.h"
#include "trace/read_if_whole.h"

extern "C" {
extern const char kymo_page_html_begin[], kymo_page_html_end[];
extern const char kymo_page_script_begin[], kymo_page_script_end[];
extern const char kymo_page_style_begin[], kymo_page_style_end[];
}

namespace kymo::serve {

namespace {

// Columns of numbers for the script of a saved page, by name.
//
// Each begins at a multiple of 8 bytes, in the byte order of the machine, so that a script uses it as a typed array
// without a copy.
class SavedColumns {
 public:
  SavedColumns() { index_.begin_object(); }

  void add(std::string_view name, std::span<const uint32_t> values) {
    add(name, "u32", std::as_bytes(values), values.size());
  }
  void add(std::string_view name, std::span<const double> values) {
    add(name, "f64", std::as_bytes(values), values.size());
  }

  const std::string& bytes() const { return bytes_; }
  // Once, after all columns: {"name": ["u32", offset in bytes, number of values], …}.
  std::string index() {
    index_.end_object();
    return index_.text();
  }

 private:
  void add(std::string_view name, const char* type, std::span<const std::byte> values, size_t count) {
    index_.begin_array(name);
    index_.value(type);
    index_.value(bytes_.size());
    index_.value(count);
    index_.end_array();
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size());
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
  }

  std::string bytes_;
  base::JsonWriter index_{base::JsonWriter::Layout::OneLine};
};

// What a saved page has besides the events of its tracks. Each function adds columns, whose names and meaning are
// described here; the scripts saved_*.js read them. All need the lock of the view, and read all chunks of all files.
// Everything is bounded by kMaxSavedEvents, because each row belongs to an event.

// The launches and flows of a saved page.

using Key = std::tuple<uint32_t, trace::WriterId, uint64_t>;  // file, writer, correlation or flow

// The same number for the same key: how many there were before it.
template <typename Map>
uint32_t number_in(Map& known, const typename Map::key_type& key) {
  return known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second;
}

struct Linked {
  uint32_t number = 0;
  bool on_device = false;
  uint32_t track = 0, item = 0;
};
struct FlowPoint {
  uint32_t number = 0, track = 0;
  int64_t time = 0;
};

class LinkCollector {
 public:
  explicit LinkCollector(View& view) : view_(view) {}

  void add(const Tile& tile);
  void save(SavedColumns& columns);

 private:
  View& view_;
  std::map<Key, uint32_t> correlations_, flow_ids_;
  std::vector<Linked> linked_;
  std::vector<FlowPoint> flows_;
};

void LinkCollector::add(const Tile& tile) {
  const TrackRef ref = *view_.find_track(tile.track);
  if (ref.kind != TrackRef::Kind::Track) return;
  const Source& source = *view_.sources()[ref.file];
  const SourceTrack& track = source.tracks()[ref.position];
  std::unordered_map<uint64_t, uint32_t> positions;  // by chunk and index
  for (uint32_t i = 0; i < tile.items.size(); ++i)
    positions.emplace(event_key(tile.items[i].chunk, tile.items[i].index), i);
  trace::EventBatch batch;
  for (const uint32_t chunk : track.chunks) {
    if (!trace::read_if_whole(source.reader(), source.reader().event_chunks()[chunk], batch,
                              trace::kPoints | trace::kRangeTimes | trace::kRangeCorrelations))
      continue;  // the tile says that it is damaged
    for (size_t i = 0; i < batch.ranges.correlation.size(); ++i) {
      if (batch.ranges.correlation[i] == 0) continue;
      const auto found = positions.find(event_key(chunk, static_cast<uint32_t>(i)));
      if (found == positions.end()) continue;
      linked_.push_back({number_in(correlations_, {ref.file, track.writer, batch.ranges.correlation[i]}),
                         track.is_queue, tile.track, found->second});
    }
    const trace::Points& points = batch.points;
    for (size_t i = 0; i < points.size(); ++i) {
      if (!trace::is_of_flow(points.kind[i])) continue;
      flows_.push_back(
          {number_in(flow_ids_, {ref.file, track.writer, points.id[i]}), tile.track, track.clock.ns(points.time[i])});
    }
  }
}

void LinkCollector::save(SavedColumns& columns) {
  std::stable_sort(linked_.begin(), linked_.end(), [](const Linked& a, const Linked& b) {
    return std::tie(a.number, a.on_device) < std::tie(b.number, b.on_device);
  });
  std::vector<uint32_t> numbers, tracks, items;
  for (size_t begin = 0; begin < linked_.size();) {
    size_t end = begin;
    while (end < linked_.size() && linked_[end].number == linked_[begin].number) ++end;
    // Without a launch, or without work, there is no arrow.
    const bool is_link = !linked_[begin].on_device && linked_[end - 1].on_device;
    for (; begin < end; ++begin) {
      if (!is_link) continue;
      numbers.push_back(linked_[begin].number);
      tracks.push_back(linked_[begin].track);
      items.push_back(linked_[begin].item);
    }
  }
  columns.add("launch.number", numbers);
  columns.add("launch.track", tracks);
  columns.add("launch.item", items);
  std::stable_sort(flows_.begin(), flows_.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::tie(a.number, a.time) < std::tie(b.number, b.time);
  });
  numbers.clear();
  tracks.clear();
  std::vector<double> times;
  for (const FlowPoint& point : flows_) {
    numbers.push_back(point.number);
    tracks.push_back(point.track);
    times.push_back(static_cast<double>(point.time));
  }
  columns.add("flow.number", numbers);
  columns.add("flow.track", tracks);
  columns.add("flow.time", times);
}

// Launches with the work on devices that they caused.
//   launch.number   the same for a launch and its work; ascending, launches before work
//   launch.track    id
//   launch.item     position in the tile of the track
// Flows, by number and time:
//   flow.number, flow.track, flow.time
void save_links(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  LinkCollector collector(view);
  for (const Tile& tile : tiles) collector.add(tile);
  collector.save(columns);
}

// The stacks of CPU samples, and the threads of ranges across threads, of a saved page.

// Stacks that share their outermost functions share their nodes.
//   stack.caller, stack.frame   of each node; node 0 is no stack. A frame is a position in the JSON that is returned.
// The JSON is [["function", "file", line, "module"], …].
class StackTree {
 public:
  // Innermost first.
  uint32_t add(const std::vector<symbols::Frame>& frames) {
    uint32_t node = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const uint32_t number = frame_number(*frame);
      const auto [known, is_new] = nodes_.try_emplace({node, number}, static_cast<uint32_t>(callers_.size()));
      if (is_new) {
        callers_.push_back(node);
        frames_of_.push_back(number);
      }
      node = known->second;
    }
    return node;
  }

  std::string save(SavedColumns& columns) {
    columns.add("stack.caller", callers_);
    columns.add("stack.frame", frames_of_);
    json_.end_array();
    return json_.text();
  }

  StackTree() { json_.begin_array(); }

 private:
  uint32_t frame_number(const symbols::Frame& frame) {
    const auto [known, is_new] = frames_.try_emplace({frame.function, frame.file, frame.line, frame.module},
                                                     static_cast<uint32_t>(frames_.size()));
    if (is_new) {
      json_.begin_array();
      json_.value(names_.of(frame.function));
      json_.value(frame.file);
      json_.value(frame.line);
      json_.value(frame.module);
      json_.end_array();
    }
    return known->second;
  }

  std::vector<uint32_t> callers_{0}, frames_of_{0};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes_;  // by caller and frame
  std::map<std::tuple<std::string, std::string, uint32_t, std::string>, uint32_t> frames_;
  symbols::ShortNames names_;
  base::JsonWriter json_{base::JsonWriter::Layout::OneLine};
};

bool has_any(const std::vector<uint32_t>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](uint32_t number) { return number != 0; });
}

// The nodes of the samples of one file.
class FileStacks {
 public:
  FileStacks(const trace::Reader& reader, StackTree& tree) {
    std::unordered_map<memory::StackId, uint32_t> nodes;
    each_sample_stack(
        reader,
        [&](uint32_t chunk, uint32_t index, memory::StackId stack) {
          samples_.emplace(event_key(chunk, index), stack);
        },
        [&](memory::StackId stack, const std::vector<symbols::Frame>& frames) { nodes[stack] = tree.add(frames); });
    for (auto& [place, stack] : samples_) stack = nodes[stack];
  }

  uint32_t node(uint32_t chunk, uint32_t index) const {
    const auto found = samples_.find(event_key(chunk, index));
    return found == samples_.end() ? 0 : found->second;
  }
  bool empty() const { return samples_.empty(); }

 private:
  std::unordered_map<uint64_t, uint32_t> samples_;
};

// The stacks of CPU samples as a tree.
//   functions.TRACK   of each item in the tile of a track: the node of its first sample or of its record; of a thread's
//                     ranges, that of a recorded wait; 0: none
//   samples.TRACK     of each instant in the tile of a thread: its node, or 0
void save_stacks(View& view, const std::vector<Tile>& tiles, StackTree& tree, SavedColumns& columns) {
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    const FileStacks stacks(view.sources()[file]->reader(), tree);
    if (stacks.empty()) continue;
    for (const Tile& tile : tiles) {
      const TrackRef ref = *view.find_track(tile.track);
      if (ref.file != file) continue;
      std::vector<uint32_t> nodes;
      if (ref.kind == TrackRef::Kind::Track) {
        for (const InstantBin& instant : tile.instants) nodes.push_back(stacks.node(instant.chunk, instant.index));
        if (has_any(nodes)) columns.add(base::format("samples.{}", tile.track), nodes);
        nodes.clear();
        for (const Item& item : tile.items) nodes.push_back(stacks.node(item.chunk, item.index));
        if (has_any(nodes)) columns.add(base::format("functions.{}", tile.track), nodes);
      } else if (ref.kind == TrackRef::Kind::Derived) {
        const auto derived = view.derived(ref.position);
        if (derived->points.empty()) continue;
        for (const Item& item : tile.items) {
          const uint32_t point = derived->points[item.index];
          nodes.push_back(point == kNoIndex ? 0 : stacks.node(item.chunk, kPointIndex + point));
        }
        columns.add(base::format("functions.{}", tile.track), nodes);
      }
    }
  }
}

// Of each item in the tile of a track with ranges across threads: the threads where it begins and ends.
//   across.TRACK.begins, across.TRACK.ends   ids of tracks
void save_ends(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  for (const Tile& tile : tiles) {
    const TrackRef ref = *view.find_track(tile.track);
    if (ref.kind != TrackRef::Kind::Derived) continue;
    const auto derived = view.derived(ref.position);
    if (derived->kind != DerivedTrack::Kind::AcrossThreads) continue;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> ends;  // by chunk and index
    for (size_t i = 0; i < derived->items.size(); ++i)
      ends[{derived->items[i].chunk, derived->items[i].index}] = derived->end_tracks[i];
    std::vector<uint32_t> begin_ids, end_ids;
    for (const Item& item : tile.items) {
      begin_ids.push_back(view.track_id(ref.file, view.sources()[ref.file]->chunks()[item.chunk].track));
      end_ids.push_back(view.track_id(ref.file, ends.at({item.chunk, item.index})));
    }
    columns.add(base::format("across.{}.begins", tile.track), begin_ids);
    columns.add(base::format("across.{}.ends", tile.track), end_ids);
  }
}

// The blocks of memory of a saved page: what is alive at any time can be computed from them.

using Json = base::JsonWriter;

// Names of functions are looked up for so many stacks, those with most bytes first. The others are one row.
constexpr size_t kMaxStacks = 20'000;

// The blocks in the order in which they are allocated.
class Blocks : public memory::BlockVisitor {
 public:
  Blocks(const memory::Tables& tables, const FilePlaces& places) : tables_(tables), places_(places) {}

  void taken(const memory::Block& block) override {
    const auto place = places_.processes.find(tables_.processes[tables_.memories[block.memory].process].pid);
    if (place == places_.processes.end()) return;
    rows_[block.number] = static_cast<uint32_t>(taken_.size());
    taken_.push_back(static_cast<double>(place->second.clock.of_realtime(block.taken_ns)));
    freed_.push_back(std::numeric_limits<double>::infinity());
    bytes_.push_back(static_cast<double>(block.bytes));
    memory_.push_back(block.memory);
    range_.push_back(block.range);
    stack_.push_back(block.stack);
  }
  void returned(const memory::Block& block, const memory::MemoryChange& by) override { end(block, by.time_ns); }
  void ended(const memory::Block& block, int64_t end_ns) override { end(block, end_ns); }

  // `stacks` are the rows of stacks; row 0 is for those that have none.
  void save(uint32_t file, const std::unordered_map<memory::StackId, uint32_t>& stacks, SavedColumns& columns) {
    for (uint32_t& stack : stack_) {
      const auto row = stacks.find(stack);
      stack = row == stacks.end() ? 0 : row->second;
    }
    const auto add = [&](const char* name, const auto& values) {
      columns.add(base::format("blocks.{}.{}", file, name), values);
    };
    add("taken", taken_);
    add("freed", freed_);
    add("bytes", bytes_);
    add("memory", memory_);
    add("range", range_);
    add("stack", stack_);
  }

 private:
  void end(const memory::Block& block, int64_t realtime_ns) {
    const auto row = rows_.find(block.number);
    if (row == rows_.end()) return;
    const auto pid = tables_.processes[tables_.memories[block.memory].process].pid;
    freed_[row->second] = static_cast<double>(places_.processes.at(pid).clock.of_realtime(realtime_ns));
    rows_.erase(row);
  }

  const memory::Tables& tables_;
  const FilePlaces& places_;
  std::unordered_map<uint64_t, uint32_t> rows_;  // of the blocks that are alive, by number
  std::vector<double> taken_, freed_, bytes_;
  std::vector<uint32_t> memory_, range_, stack_;
};

// Writes the stacks, each once, and returns the row of each.
std::unordered_map<memory::StackId, uint32_t> write_stacks(Json& json, memory::Profile& profile, StackTree& tree) {
  std::unordered_map<memory::StackId, uint32_t> rows;
  std::map<std::pair<std::string, uint32_t>, uint32_t> known;  // by name and node
  json.begin_array("stacks");
  const auto row_of = [&](const memory::Holder& holder) {
    const uint32_t node = tree.add(holder.frames);
    const auto [row, is_new] = known.try_emplace({holder.name, node}, static_cast<uint32_t>(known.size()));
    if (is_new) {
      json.begin_array();
      json.value(symbols::short_name(holder.name));
      json.value(holder.where);
      json.value(node);
      json.end_array();
    }
    return row->second;
  };
  row_of({.name = "other stacks", .where = {}, .frames = {}});
  for (const memory::Group& group : memory::largest(profile.by_stack, &memory::Group::taken, kMaxStacks))
    rows[static_cast<memory::StackId>(group.key)] = row_of(memory::describe(profile, group, memory::GroupBy::Stack));
  json.end_array();
  return rows;
}

// False if the file has no allocations.
bool save_file(View& view, uint32_t file, Json& json, StackTree& tree, SavedColumns& columns) {
  const Source& source = *view.sources()[file];
  memory::Profile profile = memory::read_profile(source.reader());
  if (profile.counts.allocations == 0) return false;
  json.begin_object();
  json.field("sampled", profile.sampled);
  const FilePlaces places = FilePlaces::of(source);
  json.field("peak_at", peak_of(profile, places));
  json.array("memories", profile.memories.size(), [&](size_t i) { json.value(memory::memory_name(profile, i)); });
  json.array("ranges", profile.tables.ranges.size(), [&](size_t i) {
    memory::Group group;
    group.key = i;
    json.value(memory::describe(profile, group, memory::GroupBy::Range).name);
  });
  const std::unordered_map<memory::StackId, uint32_t> stacks = write_stacks(json, profile, tree);
  json.end_object();
  memory::Changes changes(source.reader());  // another pass gives the same numbers
  Blocks blocks(changes.tables(), places);
  memory::replay(changes, blocks);
  blocks.save(file, stacks, columns);
  return true;
}

// Blocks of memory of each file F.
//   blocks.F.taken, blocks.F.freed   times of the file; infinity: never freed
//   blocks.F.bytes
//   blocks.F.memory, blocks.F.range, blocks.F.stack   positions in the JSON that is returned
// The JSON is, by file, null or {"sampled": false, "peak_at": 7, "memories": ["cuda:0"], "ranges": ["forward"],
// "stacks": [["resize", "tensor.cc:12", node in the tree of stacks], …]}.
std::string save_blocks(View& view, StackTree& tree, SavedColumns& columns) {
  std::string all;
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    Json json(Json::Layout::OneLine);
    all += file == 0 ? "[" : ", ";
    all += save_file(view, file, json, tree, columns) ? json.text() : "null";
  }
  return all + "]";
}

// The arguments of the events of a saved page.

constexpr size_t kMaxArgumentBytes = size_t{16} << 20;

// Lists of arguments as JSON, each once. Number 0 is the empty list.
class ArgumentLists {
 public:
  uint32_t number(const trace::EventClass& event_class, const std::vector<trace::ValueCursor::Value>& row) {
    base::JsonWriter list(base::JsonWriter::Layout::OneLine);
    list.begin_array();
    for (size_t i = 0; i < std::min(row.size(), event_class.fields.size()); ++i) {
      const std::string& name = event_class.fields[i].name;
      list.value(name.empty() ? base::format("value {}", i + 1) : name);
      list.value(trace::to_text(row[i]));
    }
    list.end_array();
    const std::string text = list.text();
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    if (rows_.size() + text.size() > kMaxArgumentBytes) {
      ++left_out_;
      return 0;
    }
    rows_ += ", " + text;
    return numbers_.try_emplace(text, static_cast<uint32_t>(numbers_.size() + 1)).first->second;
  }

  std::string json() const { return base::format(R"({{"rows": [{}], "left_out": {}}})", rows_, left_out_); }

 private:
  std::string rows_ = "[]";
  std::unordered_map<std::string, uint32_t> numbers_;
  uint64_t left_out_ = 0;
};

// The arguments of the events of one file, by chunk and index.
class FileArguments {
 public:
  FileArguments(const Source& source, ArgumentLists& lists) : source_(source), lists_(lists) {
    trace::EventBatch batch;
    for (uint32_t chunk = 0; chunk < source.chunks().size(); ++chunk) {
      if (source.chunks()[chunk].track == Source::kNoTrack) continue;
      if (!trace::read_if_whole(
              source.reader(), source.reader().event_chunks()[chunk], batch,
              trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues | trace::kPoints | trace::kPointValues))
        continue;  // the tile says that it is damaged
      add(chunk, 0, batch.ranges.class_id, batch.ranges.values);
      add(chunk, kPointIndex, batch.points.class_id, batch.points.values);
    }
  }

  uint32_t number(uint32_t chunk, uint32_t index) const {
    const auto found = numbers_.find(event_key(chunk, index));
    return found == numbers_.end() ? 0 : found->second;
  }

 private:
  void add(uint32_t chunk, uint32_t first_index, const std::vector<uint32_t>& class_ids, const trace::Values& values) {
    const trace::WriterId& writer = source_.reader().event_chunks()[chunk].writer;
    trace::ValueCursor cursor(values);
    for (uint32_t i = 0; i < class_ids.size(); ++i) {
      const Source::ClassName& known = source_.class_of(writer, class_ids[i]);
      if (known.event_class == nullptr && !known.is_inline) return;  // the values after it cannot be read
      const auto& row = cursor.next(known.event_class);
      if (known.event_class == nullptr || known.is_definition || known.event_class->fields.empty()) continue;
      const uint32_t number = lists_.number(*known.event_class, row);
      if (number != 0) numbers_.emplace(event_key(chunk, first_index + i), number);
    }
  }

  const Source& source_;
  ArgumentLists& lists_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
};

// The arguments of events, at most 16 MiB of text.
//   arguments.TRACK           of each item in the tile: a position in "rows"; a track without arguments has none
//   instant_arguments.TRACK   of each instant
// The JSON is {"rows": [[], ["name", "value", "name", "value"], …], "left_out": 0}: how many events did not fit.
std::string save_arguments(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  ArgumentLists lists;
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    const FileArguments arguments(*view.sources()[file], lists);
    for (const Tile& tile : tiles) {
      const TrackRef ref = *view.find_track(tile.track);
      if (ref.file != file) continue;
      const bool is_of_samples = ref.kind == TrackRef::Kind::Derived && !view.derived(ref.position)->points.empty();
      std::vector<uint32_t> of_items, of_instants;
      for (const Item& item : tile.items)
        of_items.push_back(is_of_samples ? 0 : arguments.number(item.chunk, item.index));
      for (const InstantBin& instant : tile.instants)
        of_instants.push_back(arguments.number(instant.chunk, instant.index));
      if (has_any(of_items)) columns.add(base::format("arguments.{}", tile.track), of_items);
      if (has_any(of_instants)) columns.add(base::format("instant_arguments.{}", tile.track), of_instants);
    }
  }
  return lists.json();
}

constexpr int kGzip = 16;  // added to zlib's window bits

std::string unpack(std::string_view packed) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) throw Error("zlib cannot unpack the page");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  char part[65'536];
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(part, sizeof part - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw Error("the page inside this program is damaged: install Kymo again");
  return text;
}

std::string pack(std::string_view bytes) {
  convert::StringStream packed;
  convert::GzipStream gzip(packed);
  gzip.write(bytes);
  gzip.finish();
  return packed.text();
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < have ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text.push_back(k <= have ? kDigits[group >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

void replace(std::string& text, std::string_view what, const std::string& by) {
  const size_t at = text.find(what);
  if (at == text.npos) throw Error(base::format("the page inside this program has no {}: it is damaged", what));
  text.replace(at, what.size(), by);
}

// A script ends where "</script" is, also inside of a text.
std::string inside_script(std::string text) {
  for (size_t at = 0; (at = text.find("</script", at)) != text.npos; at += 2) text.insert(at + 1, 1, '\\');
  return text;
}

void check_size(View& view) {
  uint64_t events = 0;
  for (const auto& source : view.sources()) events += source->event_count();
  if (events <= kMaxSavedEvents) return;
  // A part that probably fits: events are seldom spread evenly.
  const double share = 0.5 * static_cast<double>(kMaxSavedEvents) / static_cast<double>(events);
  const auto part_us = static_cast<uint64_t>(static_cast<double>(view.sources()[0]->duration_ns()) / 1000 * share);
  const std::string& path = view.sources()[0]->reader().path();
  throw Error(
      base::format("{} has {} events, and a page holds at most {}: save a part of it, for example\n"
                   "kymo cut {} -o {}-part.kymo --from 0us --to {}us",
                   path, events, kMaxSavedEvents, path, std::filesystem::path(path).stem().string(),
                   std::max<uint64_t>(part_us, 1)));
}

void sort_items(Tile& tile) {
  const auto order = [](const Item& item) { return std::tuple(item.lane, item.depth, item.start, item.end); };
  std::sort(tile.items.begin(), tile.items.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

// Every event of a track, as one tile without bins.
Tile whole_track(View& view, uint32_t id) {
  Tile tile;
  tile.track = id;
  const TrackRef ref = *view.find_track(id);
  const Source& source = *view.sources()[ref.file];
  if (ref.kind == TrackRef::Kind::Derived) {
    const auto derived = view.derived(ref.position);
    tile.items = derived->items;
    tile.counters = derived->values;
    sort_items(tile);
    return tile;
  }
  const bool is_counter = ref.kind == TrackRef::Kind::Counter;
  const std::optional<Counter> counter = is_counter ? view.counter(ref.position) : std::nullopt;
  for (const uint32_t chunk : counter ? counter->chunks : source.tracks()[ref.position].chunks) {
    const auto decoded = view.decoded(ref.file, chunk);
    if (decoded->damaged) tile.flags |= Tile::kDamaged;
    if (counter) {
      for (const CounterBin& value : decoded->counters)
        if (counter->has(value)) tile.counters.push_back(value);
      continue;
    }
    for (size_t i = 0; i < decoded->range_count(); ++i) {
      Item item = decoded->range(i);
      if (item.text != kNoText) item.name = view.names().of_text(decoded->texts[item.text], item.name);
      tile.items.push_back(item);
    }
    tile.instants.insert(tile.instants.end(), decoded->instants.begin(), decoded->instants.end());
  }
  if (!counter)
    for (const Item& item : view.unfinished(ref.file, ref.position)) tile.items.push_back(item);
  sort_items(tile);
  const auto by_time = [](const auto& a, const auto& b) { return a.time < b.time; };
  std::stable_sort(tile.instants.begin(), tile.instants.end(), by_time);
  std::stable_sort(tile.counters.begin(), tile.counters.end(), by_time);
  return tile;
}

std::vector<Tile> all_tracks(View& view) {
  std::vector<Tile> tiles;
  for (uint32_t id = 0; view.find_track(id); ++id) {
    tiles.push_back(whole_track(view, id));
    const Tile& tile = tiles.back();
    if (tile.items.empty() && tile.instants.empty() && tile.counters.empty()) tiles.pop_back();
  }
  return tiles;
}

// An analysis that fails is null: the page says that it does not have it.
std::string result_or_null(const std::function<std::string()>& analysis) {
  try {
    return analysis();
  } catch (const Error&) {
    return "null";
  }
}

// By file.
std::string results_of(const std::function<std::string(uint32_t, const IsGone&)>& analysis, size_t files) {
  std::string all = "[";
  for (uint32_t file = 0; file < files; ++file) {
    if (file > 0) all += ", ";
    all += analysis ? result_or_null([&] { return analysis(file, {}); }) : "null";
  }
  return all + "]";
}

// Of two files, in both directions. Pairs of more files would be many.
std::string comparisons_of(const Analyses& analyses, size_t files) {
  if (!analyses.diff || files != 2) return "{}";
  return base::format(R"({{"0,1": {}, "1,0": {}}})", result_or_null([&] { return analyses.diff(0, 1, {}); }),
                      result_or_null([&] { return analyses.diff(1, 0, {}); }));
}

// What the page asks for if it shows totals of everything.
std::string totals_of(View& view, const Analyses& analyses, uint32_t file) {
  int64_t end = 1;
  for (const auto& source : view.sources()) end = std::max(end, source->duration_ns());
  std::multimap<std::string, std::string> whole{{"from", "0"}, {"to", std::to_string(end)}};
  std::vector<std::string> ids;
  for (uint32_t id = 0; view.sources().size() > 1 && view.find_track(id); ++id)
    if (view.find_track(id)->file == file) ids.push_back(std::to_string(id));
  if (!ids.empty()) whole.emplace("tracks", base::join(ids, ","));
  const auto flame = [&](const char* by) {
    auto query = whole;
    query.emplace("by", by);
    return result_or_null([&] { return flame_json(view, analyses, Query(query)); });
  };
  return base::format(R"({{"selection": {}, "wait": {}, "device": {}}})",
                      result_or_null([&] { return selection_json(view, analyses, Query(whole)); }), flame("wait"),
                      flame("device"));
}

void append_padded(std::string& data, const std::string& part) {
  data += part;
  data.resize((data.size() + 7) / 8 * 8);
}

// 0   u32   length of the JSON
// 4   u32   length of the tiles
// 8         JSON, then the tiles, then the columns of SavedColumns, each from a multiple of 8 bytes on
std::string page_data(View& view, const Analyses& analyses) {
  std::string tracks, stacks, blocks, arguments;
  SavedColumns columns;
  {
    const View::Lock lock = view.lock();
    const std::vector<Tile> tiles = all_tracks(view);
    save_links(view, tiles, columns);
    StackTree tree;
    save_stacks(view, tiles, tree, columns);
    save_ends(view, tiles, columns);
    blocks = save_blocks(view, tree, columns);
    stacks = tree.save(columns);
    arguments = save_arguments(view, tiles, columns);
    tracks = encode_tiles(tiles, view.names().size());
  }
  const size_t files = view.sources().size();
  const std::string answers = base::format(
      R"({{"trace": {}, "names": {}, "reports": {}, "idle": {}, "totals": {}, "comparisons": {}, )"
      R"("frames": {}, "memory": {}, "arguments": {}, "columns": {}}})",
      trace_json(view), all_names_json(view), results_of(analyses.report, files), results_of(analyses.idle, files),
      results_of([&](uint32_t file, const IsGone&) { return totals_of(view, analyses, file); }, files),
      comparisons_of(analyses, files), stacks, blocks, arguments, columns.index());
  const uint32_t lengths[] = {static_cast<uint32_t>(answers.size()), static_cast<uint32_t>(tracks.size())};
  std::string data(reinterpret_cast<const char*>(lengths), sizeof lengths);
  append_padded(data, answers);
  append_padded(data, tracks);
  append_padded(data, columns.bytes());
  return data;
}

std::string page_script_of_data() {
  std::string script = "(() => {\n'use strict';\n";
  for (const std::string_view part : {embedded::saved_tiles_js, embedded::saved_links_js, embedded::saved_memory_js,
                                      embedded::saved_answers_js, embedded::saved_page_js})
    script += part;
  return script + "})();\n";
}

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

std::string_view page_html() { return between(kymo_page_html_begin, kymo_page_html_end); }
std::string_view page_script() { return between(kymo_page_script_begin, kymo_page_script_end); }
std::string_view page_style() { return between(kymo_page_style_begin, kymo_page_style_end); }

std::string saved_page(View& view, const Analyses& analyses) {
  check_size(view);
  view.wait_until_built();  // all counters are known then
  std::string page = unpack(page_html());
  // The policy also forbids every connection: the page has all it needs.
  replace(page, "<meta charset=\"utf-8\">",
          "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">");
  replace(page, "<link rel=\"stylesheet\" href=\"page.css\">", "<style>\n" + unpack(page_style()) + "</style>");
  replace(page, "<script src=\"page.js\"></script>",
          "<script type=\"application/octet-stream\" id=\"kymo-data\">" + base64(pack(page_data(view, analyses))) +
              "</script>\n<script>\n" + inside_script(page_script_of_data()) + "</script>\n<script>\n" +
              inside_script(unpack(page_script())) + "</script>");
  return page;
}

}  // namespace kymo::serve
