#include "import/chrome.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "convert/places.h"
#include "import/builder/event_tables.h"
#include "import/chrome_piece.h"
#include "import/exported.h"
#include "import/json_events.h"
#include "import/json_pieces.h"
#include "import/ordered_pieces.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

std::string key_of(const std::string& pid, const std::string& tid) { return pid + "\n" + tid; }

// The number of a key of JsonId; nothing: it is negative, too large, or a text.
std::optional<uint64_t> number_of(std::string_view key) {
  if (key.starts_with('"')) key.remove_prefix(1);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size() || std::to_string(number) != key) return std::nullopt;
  return number;
}

// What people see of a key without a number.
std::string text_of(std::string_view key) { return std::string(key.starts_with('"') ? key.substr(1) : key); }

// The processes and tracks of a Chrome trace: found by the pid and tid of each event, named by metadata events.
class ChromeRows {
 public:
  explicit ChromeRows(TraceBuilder& builder) : builder_(builder) {}

  uint32_t track(const ChromePiece::Row& row) {
    const std::string key = key_of(row.pid, row.tid);
    const auto [entry, is_new] = rows_.try_emplace(key);
    if (is_new) {
      const uint32_t of = process(row.pid);
      entry->second = {builder_.add_track({.process = of}), of, row.tid};
    }
    const uint32_t number = entry->second.track;
    ImportedTrack& track = builder_.track(number);
    if (row.queue && track.kind != trace::TrackKind::DeviceQueue) {
      track.kind = trace::TrackKind::DeviceQueue;
      track.queue = row.queue->queue;
      track.context = row.queue->context;
      device_pids_[number] = row.pid;
      known_queues_.emplace(key, *row.queue);
    }
    return number;
  }

  void name(const ChromePiece::Name& name) {
    const std::string key = key_of(name.pid, name.tid);
    if (name.what == "process_name") {
      builder_.process(process(name.pid)).name = name.text;
    } else if (name.what == "process_labels") {
      process_labels_[name.pid] = name.text;
    } else if (name.what == "thread_name") {
      std::string_view text = name.text;
      while (text.ends_with(' ')) text.remove_suffix(1);
      track_names_[key] = text;
    } else if (name.what == "thread_sort_index") {
      if (name.number) track_orders_[key] = *name.number;
    } else if (name.what == "kymo_queue") {
      own_queues_[key] = {name.pid, std::to_string(name.number.value_or(0)), name.text, name.queue};
    }
  }

  void saw_launch(uint32_t track) {
    if (!launching_process_) launching_process_ = builder_.track(track).process;
  }

  // Kineto's "deviceProperties": a JSON list of objects with the id and name of a device.
  void name_devices(std::string_view json, JsonEvents& parser) {
    std::string text(json);
    // The objects have the same form as events.
    parser.parse(text, [this](const JsonEvent& device) {
      if (device.id && !device.id->is_text && !device.name.empty())
        device_names_[device.id->key()] = std::string(device.name);
    });
  }

  std::optional<uint32_t> find_process(uint64_t pid) const {
    const auto found = processes_.find(std::to_string(pid));
    return found == processes_.end() ? std::nullopt : std::optional(found->second);
  }

  // Which the file is about: the one that launches work, or the first one that is neither a device nor a row of text
  // that the profiler adds.
  uint32_t main_process() const {
    if (launching_process_) return *launching_process_;
    const auto none = static_cast<uint32_t>(builder_.process_count());
    uint32_t first = none;
    for (const auto& [key, row] : rows_)
      if (!device_pids_.contains(row.track) && !own_queues_.contains(key) && number_of(key.substr(0, key.find('\n'))))
        first = std::min(first, row.process);
    return first == none ? 0 : first;
  }

  // The streams that are known. Another object after each change, so that other threads can read it.
  std::shared_ptr<const ChromeQueues> queues() {
    if (queues_->size() != known_queues_.size()) queues_ = std::make_shared<ChromeQueues>(known_queues_);
    return queues_;
  }

  // True if the piece's streams are those that the pieces before it say.
  bool agrees(const ChromePiece& piece) const {
    return std::all_of(piece.rows.begin(), piece.rows.end(), [this](const ChromePiece::Row& row) {
      if (!row.queue) return true;
      const auto known = known_queues_.find(key_of(row.pid, row.tid));
      return known == known_queues_.end() || known->second == *row.queue;
    });
  }

  // Gives the queues of devices to the process that launched their work, and the tracks their names.
  void finish() {
    for (const auto& [key, row] : rows_) {
      const auto name = track_names_.find(key);
      if (name != track_names_.end()) builder_.track(row.track).name = name->second;
      const auto own = own_queues_.find(key);
      if (own == own_queues_.end()) continue;
      ImportedTrack& track = builder_.track(row.track);
      track.kind = trace::TrackKind::DeviceQueue;
      track.queue = own->second.queue.queue;
      track.context = own->second.queue.context;
      device_pids_[row.track] = own->second.pid;
      own_devices_[row.track] = own->second.device;
      const auto owning = processes_.find(own->second.owner);
      if (owning != processes_.end()) owning_processes_[row.track] = owning->second;
    }
    for (const auto& [number, pid] : device_pids_) {
      ImportedTrack& track = builder_.track(number);
      const auto label = process_labels_.find(pid);
      const auto device = device_names_.find(pid);
      track.device = label != process_labels_.end() && !label->second.empty() ? label->second : "GPU " + pid;
      if (device != device_names_.end()) track.device += " (" + device->second + ")";
      if (const auto own = own_devices_.find(number); own != own_devices_.end()) track.device = own->second;
      const auto owner = owning_processes_.find(number);
      if (owner != owning_processes_.end()) {
        track.process = owner->second;
      } else if (launching_process_) {
        track.process = *launching_process_;
      }
    }
    find_lanes();
    number_ids();
  }

 private:
  struct Row {
    uint32_t track = 0;
    uint32_t process = 0;
    std::string tid;
  };

  uint32_t process(const std::string& pid) {
    const auto [entry, is_new] = processes_.try_emplace(pid, 0);
    if (is_new) entry->second = builder_.add_process({});
    return entry->second;
  }

  // Processes and threads keep their numbers. Others get numbers that nothing else in the file has, as in an export, so
  // that they stay apart. Their texts are their names if they have no other, like the numbers that viewers cannot show.
  void number_ids() {
    std::set<uint64_t> pids;
    using convert::RowNumbers;
    for (const auto& [pid, number] : processes_) {
      ImportedProcess& process = builder_.process(number);
      const auto known = number_of(pid);
      if (known) pids.insert(process.pid = *known);
      if (process.name.empty() && known.value_or(UINT64_MAX) > RowNumbers::kLargest) process.name = text_of(pid);
    }
    std::set<std::pair<uint32_t, uint64_t>> tids;  // with their processes
    for (const auto& [key, row] : rows_) {
      ImportedTrack& track = builder_.track(row.track);
      const auto known = number_of(row.tid);
      if (known) tids.insert({row.process, track.tid = *known});
      if (track.name.empty() && known.value_or(UINT64_MAX) > RowNumbers::kLargest) track.name = text_of(row.tid);
    }
    // In the order of their keys, not of the hash table.
    const std::map<std::string, uint32_t> processes(processes_.begin(), processes_.end());
    uint64_t next = RowNumbers::kFirstInvented;
    for (const auto& [pid, number] : processes) {
      if (number_of(pid)) continue;
      while (!pids.insert(next).second) ++next;
      builder_.process(number).pid = next;
    }
    const std::map<std::string, Row> rows(rows_.begin(), rows_.end());
    next = RowNumbers::kFirstInvented;
    for (const auto& [key, row] : rows) {
      if (number_of(row.tid)) continue;
      while (!tids.insert({row.process, next}).second) ++next;
      builder_.track(row.track).tid = next;
    }
  }

  // Kymo's exports have a row for each lane of a thread or queue: "name (lane 2)", with the next order after "name".
  void find_lanes() {
    constexpr uint64_t kLanesInOrder = 256;
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> firsts;  // tracks, by process and order
    const auto order_of = [&](const std::string& key) {
      const auto found = track_orders_.find(key);
      return found != track_orders_.end() ? found->second : 0;
    };
    for (const auto& [key, row] : rows_)
      if (order_of(key) % kLanesInOrder == 0) firsts[{row.process, order_of(key)}] = row.track;
    for (const auto& [key, row] : rows_) {
      const uint64_t order = order_of(key), lane = order % kLanesInOrder;
      const auto first = firsts.find({row.process, order - lane});
      if (lane == 0 || first == firsts.end()) continue;
      ImportedTrack& track = builder_.track(row.track);
      if (!track.name.starts_with(builder_.track(first->second).name + " (lane ")) continue;
      track.lane_of = first->second;
      track.lane = static_cast<uint8_t>(lane);
    }
  }

  TraceBuilder& builder_;
  std::unordered_map<std::string, uint32_t> processes_;  // by pid
  std::unordered_map<std::string, Row> rows_;            // by pid and tid
  ChromeQueues known_queues_;
  std::shared_ptr<const ChromeQueues> queues_ = std::make_shared<ChromeQueues>();  // the last copy
  std::map<std::string, std::string> track_names_, process_labels_;
  std::map<std::string, uint64_t> track_orders_;  // by pid and tid
  struct OwnQueue {
    std::string pid, owner, device;  // of its row; of its process
    ChromeQueue queue;
  };
  std::map<std::string, OwnQueue> own_queues_;       // of Kymo's exports, by pid and tid
  std::map<uint32_t, std::string> own_devices_;      // by track
  std::map<std::string, std::string> device_names_;  // by the pid of a device, which is its number
  std::map<uint32_t, std::string> device_pids_;      // by track
  std::map<uint32_t, uint32_t> owning_processes_;    // of queues, by track
  std::optional<uint32_t> launching_process_;
};

using trace::PointKind;
using Open = ChromePiece::Open;

constexpr unsigned kMostThreads = 16;

class ChromeImport {
 public:
  ChromeImport(TraceBuilder& builder, const ChromeOptions& options)
      : builder_(builder), options_(options), rows_(builder) {}

  int64_t read(ByteSource& source) {
    const unsigned processors = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
    const size_t piece_bytes = options_.piece_bytes != 0 ? options_.piece_bytes : JsonPieces::kPieceBytes;
    unsigned threads = options_.threads != 0 ? options_.threads : processors;
    // A small file needs no more threads than it has pieces.
    if (!source.is_compressed() && source.file_bytes() != 0)
      threads = static_cast<unsigned>(std::min<uint64_t>(threads, 1 + source.file_bytes() / piece_bytes));
    JsonPieces pieces(source, piece_bytes);
    for (unsigned i = 0; i < threads; ++i) readers_.emplace_back(builder_.add_tables(), options_.range_values);
    OrderedPieces ordered(
        pieces, [this](unsigned thread, OrderedPieces::Work& work) { parse(thread, work); },
        [this](unsigned thread, OrderedPieces::Work& work) { apply(thread, work); });
    ordered.run(threads);
    if (!pieces.had_list()) throw Error("it has no list \"traceEvents\", so it is not a Chrome trace");
    report(pieces, source);
    const int64_t base_ns = read_members(pieces);
    rows_.finish();
    return base_ns;
  }

 private:
  void parse(unsigned thread, OrderedPieces::Work& work) {
    std::shared_ptr<const ChromeQueues> queues;
    {
      const std::lock_guard lock(queues_mutex_);
      queues = queues_;
    }
    readers_[thread].read(work.piece, *queues, work.result);
  }

  // One piece after the other.
  void apply(unsigned thread, OrderedPieces::Work& work) {
    ChromePiece& piece = work.result;
    if (!rows_.agrees(piece)) readers_[thread].read(work.piece, *rows_.queues(), piece);
    tracks_.clear();
    auto name = piece.names.begin();
    for (size_t i = 0; i <= piece.rows.size(); ++i) {
      for (; name != piece.names.end() && name->rows_before <= i; ++name) rows_.name(*name);
      if (i < piece.rows.size()) tracks_.push_back(rows_.track(piece.rows[i]));
    }
    if (piece.launching_row) rows_.saw_launch(tracks_[*piece.launching_row]);
    for (const Open& open : piece.open) resolve(open, piece.rows[open.row].block, tracks_[open.row]);
    for (size_t i = 0; i < piece.rows.size(); ++i)
      if (!piece.rows[i].block.records.empty()) builder_.append(tracks_[i], std::move(piece.rows[i].block));
    add(piece.counts);
    const std::lock_guard lock(queues_mutex_);
    queues_ = rows_.queues();
  }

  // Gives a point the number that other pieces may refer to.
  void resolve(const Open& open, EventBlock& block, uint32_t track) {
    ImportedRecord& record = block.records[open.record];
    switch (open.kind) {
      case Open::Kind::Flow:
        record.end = static_cast<int64_t>(number_of_id(open.key));
        break;
      case Open::Kind::UnfinishedAsync:
      case Open::Kind::Async: {
        const uint64_t number = number_of_id(open.key);
        record.end = static_cast<int64_t>(number);
        if (open.kind == Open::Kind::UnfinishedAsync) unfinished_.insert(number);
        const bool is_end = record.point == static_cast<uint8_t>(PointKind::AsyncEnd);
        if (is_end && unfinished_.erase(number) != 0) block.drop(record);
        break;
      }
      case Open::Kind::UnfinishedRange:
        unfinished_ranges_.emplace_back(&record, builder_.track(track).process);
        break;
      case Open::Kind::Sample:
        record.end = stack_of(open.key, builder_, track);
        break;
    }
  }

  uint64_t number_of_id(const std::string& key) { return ids_.try_emplace(key, ids_.size() + 1).first->second; }

  void add(const ChromePiece::Counts& counts) {
    counts_.bad += counts.bad;
    counts_.without_time += counts.without_time;
    counts_.without_phase += counts.without_phase;
    counts_.bad_durations += counts.bad_durations;
    for (size_t phase = 0; phase < counts.phases.size(); ++phase) counts_.phases[phase] += counts.phases[phase];
  }

  void report(const JsonPieces& pieces, const ByteSource& source) {
    builder_.lose("events that are not valid JSON", counts_.bad);
    builder_.lose("events without a time", counts_.without_time);
    builder_.lose("events without a phase (\"ph\")", counts_.without_phase);
    builder_.lose("durations that are not numbers or are too large; the ranges are empty", counts_.bad_durations);
    builder_.lose(base::format("events longer than {} MiB", JsonPieces::kLongestEvent >> 20), pieces.left_out());
    for (size_t phase = 0; phase < counts_.phases.size(); ++phase) {
      const bool is_printable = phase > ' ' && phase < 127;
      builder_.lose(is_printable ? base::format("events of phase \"{}\"", static_cast<char>(phase))
                                 : std::string("events of an unknown phase"),
                    counts_.phases[phase]);
    }
    if (pieces.is_truncated()) builder_.lose_damaged("the end of the file, which is truncated");
    if (!source.damage().empty()) builder_.lose_damaged("the rest of the file: " + source.damage());
  }

  using Metadata = std::vector<std::pair<std::string, std::string>>;

  static void add(Metadata& metadata, std::string_view key, std::string_view value) {
    const auto is_known = [&](const auto& one) { return one.first == key; };
    if (std::none_of(metadata.begin(), metadata.end(), is_known)) metadata.emplace_back(key, value);
  }

  void set_host(std::string_view host) {
    for (uint32_t i = 0; i < builder_.process_count(); ++i)
      if (std::string& known = builder_.process(i).host; known.empty()) known = host;
  }

  // Of Kymo's own exports.
  void add_processes(const std::string& member) {
    for (const ExportedProcess& exported : exported_processes(member)) {
      if (const auto number = rows_.find_process(exported.pid)) exported.add_to(builder_.process(*number));
    }
  }

  int64_t read_members(const JsonPieces& pieces) {
    constexpr size_t kLongestShown = 4096;
    JsonEvents& json = readers_[0].json();
    int64_t base_ns = 0;
    Metadata unused;
    Metadata& metadata = builder_.process_count() > 0 ? builder_.process(rows_.main_process()).metadata : unused;
    for (const auto& [name, text] : pieces.members()) {
      std::string copy = text;
      const auto value = json.value(copy);
      if (!value) continue;
      if (name == "kymo") {
        add_processes(text);
        for (const auto& [range, process] : unfinished_ranges_) {
          std::optional<int64_t>& alive = builder_.process(process).alive_until;
          alive = std::max(alive.value_or(range->end), range->end);
          range->end = ImportedRecord::kNever;
        }
      }
      if (name == "baseTimeNanoseconds" && value->type == JsonArgument::Type::Int) {
        base_ns = static_cast<int64_t>(value->bits);
      } else if (name == "deviceProperties") {
        rows_.name_devices(value->text, json);
      } else if (name == "host_name" && value->type == JsonArgument::Type::String) {
        set_host(value->text);
      } else if (value->type == JsonArgument::Type::Json && names_variable(name)) {
        continue;  // a variable has a text
      } else if (name != "displayTimeUnit" && name != "schemaVersion" && text.size() <= kLongestShown) {
        add(metadata, name, value->type == JsonArgument::Type::String ? value->text : std::string_view(text));
      }
    }
    return base_ns;
  }

  TraceBuilder& builder_;
  const ChromeOptions options_;
  std::deque<ChromePieceReader> readers_;  // by thread
  std::mutex queues_mutex_;
  std::shared_ptr<const ChromeQueues> queues_ = std::make_shared<ChromeQueues>();

  // Used by the thread that applies a piece.
  ChromeRows rows_;
  std::vector<uint32_t> tracks_;  // of the rows of a piece
  ChromePiece::Counts counts_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::unordered_set<uint64_t> unfinished_;  // ids of ranges across threads
  // With their processes. They are unfinished if the file is an export of Kymo. Blocks keep their records in place.
  std::vector<std::pair<ImportedRecord*, uint32_t>> unfinished_ranges_;
};

}  // namespace

int64_t read_chrome_with(ByteSource& source, TraceBuilder& builder, const ChromeOptions& options) {
  return ChromeImport(builder, options).read(source);
}

int64_t read_chrome(ByteSource& source, TraceBuilder& builder) { return read_chrome_with(source, builder, {}); }

}  // namespace kymo::import
