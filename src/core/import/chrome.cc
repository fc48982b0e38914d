#include "import/chrome.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "import/chrome_piece.h"
#include "import/chrome_rows.h"
#include "import/event_tables.h"
#include "import/exported.h"
#include "import/json_pieces.h"
#include "import/ordered_pieces.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

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
      case Open::Kind::OwnFlow: {
        // A point of several arrows is written for each.
        const FlowPoint point{track, record.start, record.point, record.end};
        if (std::exchange(last_flow_, point) == point) block.drop(record);
        break;
      }
      case Open::Kind::UnfinishedAsync:
      case Open::Kind::Async: {
        const uint64_t number = number_of_id(open.key);
        record.end = static_cast<int64_t>(number);
        if (open.kind == Open::Kind::UnfinishedAsync) unfinished_.insert(number);
        const bool is_end = record.point == static_cast<uint8_t>(PointKind::AsyncEnd);
        if (is_end && unfinished_.erase(number) != 0) block.drop(record);
        break;
      }
      case Open::Kind::Sample:
        record.end = stack_of(open.key, builder_, track);
        break;
      case Open::Kind::Allocation: {
        // The stack is the last of its values.
        const size_t next = open.record + size_t{1};
        const size_t end = next < block.records.size() ? next_values(block, next) : block.bytes.size();
        put_wide_varint(block.bytes.data() + end - kWideVarint, stack_of(open.key, builder_, track));
        break;
      }
    }
  }

  // Where the values of the next record that has some begin.
  static size_t next_values(const EventBlock& block, size_t at) {
    while (at < block.records.size() && block.records[at].kind == ImportedRecord::Kind::End) ++at;
    return at < block.records.size() ? block.records[at].values : block.bytes.size();
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
      const auto number = rows_.find_process(exported.pid);
      if (!number) continue;
      ImportedProcess& process = builder_.process(*number);
      process.host = exported.host;
      for (const auto& [key, value] : exported.environment) add(process.metadata, key, value);
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
      if (name == "kymo") add_processes(text);
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

  struct FlowPoint {
    uint32_t track = 0;
    int64_t time = 0;
    uint8_t kind = 0;
    int64_t id = 0;
    bool operator==(const FlowPoint&) const = default;
  };

  TraceBuilder& builder_;
  const ChromeOptions options_;
  std::deque<ChromePieceReader> readers_;  // by thread
  std::mutex queues_mutex_;
  std::shared_ptr<const ChromeQueues> queues_ = std::make_shared<ChromeQueues>();

  // Used by the thread that applies a piece.
  ChromeRows rows_;
  std::vector<uint32_t> tracks_;  // of the rows of a piece
  FlowPoint last_flow_;           // of a file that Kymo exported
  ChromePiece::Counts counts_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::unordered_set<uint64_t> unfinished_;  // ids of ranges across threads
};

}  // namespace

int64_t read_chrome_with(ByteSource& source, TraceBuilder& builder, const ChromeOptions& options) {
  return ChromeImport(builder, options).read(source);
}

int64_t read_chrome(ByteSource& source, TraceBuilder& builder) { return read_chrome_with(source, builder, {}); }

}  // namespace kymo::import
