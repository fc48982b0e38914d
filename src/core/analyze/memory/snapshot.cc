#include "analyze/memory/snapshot.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/printable.h"

namespace kymo::memory {

namespace {

constexpr uint64_t kAreaBytes = 2 << 20;
constexpr uint64_t kEndOfAreas = (uint64_t{1} << 63) - kAreaBytes;
constexpr size_t kMostFrames = 10'000'000;  // of all stacks; further stacks stay empty

// Viewers use signed numbers, so blocks beyond their range are left out.
bool is_shown(const Block& block) { return block.address != 0 && block.address < kEndOfAreas; }
uint64_t shown_bytes(const Block& block) { return std::min(block.bytes, kEndOfAreas - block.address); }

// The memory areas that contained blocks. Areas have a fixed granularity, and adjacent ones are joined.
class Areas {
 public:
  void add(const Block& block) {
    uint64_t begin = block.address / kAreaBytes * kAreaBytes;
    uint64_t end = block.address + std::max<uint64_t>(shown_bytes(block), 1);
    end = (end + kAreaBytes - 1) / kAreaBytes * kAreaBytes;
    if (last_begin_ <= begin && end <= last_end_) return;
    auto next = areas_.upper_bound(begin);
    if (next != areas_.begin() && std::prev(next)->second.end >= begin) --next;
    while (next != areas_.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second.end);
      next = areas_.erase(next);
    }
    areas_[begin] = {end};
    last_begin_ = begin;
    last_end_ = end;
  }

  struct Area {
    uint64_t end = 0;
    bool used = false;
  };
  const std::map<uint64_t, Area>& all() const { return areas_; }

  // The area of an address that was added, at the first query for this area. The end iterator at later queries.
  std::map<uint64_t, Area>::const_iterator first_use(uint64_t address) {
    if (last_begin_ <= address && address < last_end_ && last_is_used_) return areas_.end();
    const auto found = std::prev(areas_.upper_bound(address));
    last_begin_ = found->first;
    last_end_ = found->second.end;
    last_is_used_ = true;
    return std::exchange(found->second.used, true) ? areas_.end() : found;
  }

 private:
  std::map<uint64_t, Area> areas_;  // by begin address
  uint64_t last_begin_ = 1, last_end_ = 0;
  bool last_is_used_ = false;
};

struct SnapshotMemory {
  Areas areas;
  std::vector<Block> left;  // by address
};

// The first pass: finds the areas and the blocks that are left.
class AreaFinder : public BlockVisitor {
 public:
  void taken(const Block& block) override {
    if (is_shown(block)) of(block).areas.add(block);
  }
  void remaining(const Block& block) override {
    if (is_shown(block)) of(block).left.push_back(block);
  }

  std::vector<SnapshotMemory> memories;

 private:
  SnapshotMemory& of(const Block& block) {
    if (block.memory >= memories.size()) memories.resize(block.memory + size_t{1});
    return memories[block.memory];
  }
};

class SnapshotWriter : public BlockVisitor {
 public:
  SnapshotWriter(const trace::Reader& reader, const std::string& device, convert::ExportStream& sink)
      : reader_(reader), device_(device), pickle_(sink) {}

  void write() {
    AreaFinder finder;
    Changes changes(reader_, device_);
    replay(changes, finder);
    tables_ = &changes.tables();
    finder.memories.resize(tables_->memories.size());

    pickle_.begin_dict();
    pickle_.key("device_traces");  // first, because texts that are shared first get the shortest references
    pickle_.begin_list();
    for (memory_ = 0; memory_ < finder.memories.size(); ++memory_) {
      areas_ = &finder.memories[memory_].areas;
      pickle_.begin_list();
      Changes again(reader_, device_);
      replay(again, *this);
      pickle_.end_list();
    }
    pickle_.end_list();
    pickle_.key("segments");
    pickle_.begin_list();
    for (size_t i = 0; i < finder.memories.size(); ++i) write_segments(i, finder.memories[i]);
    pickle_.end_list();
    pickle_.key("allocator_settings");
    pickle_.begin_dict();
    pickle_.end_dict();
    pickle_.key("external_annotations");
    pickle_.begin_list();
    pickle_.end_list();
    pickle_.end_dict();
    pickle_.finish();
  }

  void taken(const Block& block) override {
    if (block.memory != memory_ || !is_shown(block)) return;
    if (const auto area = areas_->first_use(block.address); area != areas_->all().end())
      event("segment_alloc", area->first, area->second.end - area->first, block, block.taken_ns);
    event("alloc", block.address, shown_bytes(block), block, block.taken_ns);
  }
  void returned(const Block& block, const MemoryChange& by) override {
    if (block.memory != memory_ || !is_shown(block)) return;
    event("free_requested", block.address, shown_bytes(block), block, by.time_ns);
    event("free_completed", block.address, shown_bytes(block), block, by.time_ns);
  }

 private:
  template <class Number>
  void put(std::string_view key, Number value) {
    pickle_.key(key);
    pickle_.number(value);
  }
  void put_text(std::string_view key, std::string_view value) {
    pickle_.key(key);
    pickle_.text(value);
  }

  void event(std::string_view action, uint64_t address, uint64_t bytes, const Block& block, int64_t time_ns) {
    pickle_.begin_dict();
    put_text("action", action);
    put("addr", address);
    put("size", bytes);
    put("stream", uint64_t{0});
    put("time_us", time_ns / 1000);
    put_text("compile_context", "N/A");
    put_text("user_metadata", tables_->ranges[block.range]);
    put_frames(block.stack);
    pickle_.end_dict();
  }

  void put_frames(StackId stack) {
    pickle_.key("frames");
    if (const auto known = frames_.find(stack); known != frames_.end()) return pickle_.shared(known->second);
    pickle_.begin_list();
    std::vector<symbols::Frame> frames = tables_->stacks.frames(stack);
    frames.resize(std::min(frames.size(), kMostFrames - frames_written_));
    frames_written_ += frames.size();
    for (const symbols::Frame& frame : frames) {
      pickle_.begin_dict();
      put_text("name", frame.function);
      put_text("filename", frame.file.empty() ? frame.module : frame.file);
      put("line", uint64_t{frame.line});
      pickle_.end_dict();
    }
    pickle_.end_list();
    frames_.emplace(stack, pickle_.share());
  }

  void write_segments(size_t memory, SnapshotMemory& one) {
    std::ranges::sort(one.left, {}, &Block::address);
    auto block = one.left.begin();
    for (const auto& [begin, area] : one.areas.all()) {
      const uint64_t end = area.end;
      const auto first = block;
      uint64_t active = 0;
      for (; block != one.left.end() && block->address < end; ++block)
        active += size_within(block, one.left.end(), end);
      pickle_.begin_dict();
      put("device", uint64_t{memory});
      put("address", begin);
      put("total_size", end - begin);
      put("allocated_size", active);
      put("active_size", active);
      put("requested_size", active);
      put("stream", uint64_t{0});
      put_text("segment_type", "large");
      pickle_.key("segment_pool_id");
      pickle_.pair(0, 0);
      pickle_.key("is_expandable");
      pickle_.boolean(false);
      put_frames(0);
      pickle_.key("blocks");
      pickle_.begin_list();
      uint64_t at = begin;
      for (auto here = first; here != block; ++here) {
        write_block("inactive", at, here->address - at, 0);
        at = here->address + size_within(here, one.left.end(), end);
        write_block("active_allocated", here->address, at - here->address, here->stack);
      }
      write_block("inactive", at, end - at, 0);
      pickle_.end_list();
      pickle_.end_dict();
    }
  }

  // A sampled block stands for more bytes than there is room for.
  static uint64_t size_within(std::vector<Block>::iterator block, std::vector<Block>::iterator all_end, uint64_t end) {
    const auto next = std::next(block);
    const uint64_t limit = next == all_end ? end : std::min(end, next->address);
    return std::min(block->bytes, limit - block->address);
  }

  void write_block(std::string_view state, uint64_t address, uint64_t size, StackId stack) {
    if (size == 0) return;
    pickle_.begin_dict();
    put("address", address);
    put("size", size);
    put("requested_size", size);
    put_text("state", state);
    put_frames(stack);
    pickle_.end_dict();
  }

  const trace::Reader& reader_;
  const std::string& device_;
  PickleWriter pickle_;
  Tables* tables_ = nullptr;
  size_t memory_ = 0;
  Areas* areas_ = nullptr;  // areas of the current memory
  std::unordered_map<StackId, uint32_t> frames_;
  size_t frames_written_ = 0;
};

}  // namespace

void write_snapshot(const trace::Reader& reader, const std::string& device, convert::ExportStream& sink) {
  SnapshotWriter(reader, device, sink).write();
}

namespace {

// The instructions of a pickle, which is a program for a stack machine.
enum Operation : unsigned char {
  kProtocol = 0x80,
  kMark = '(',
  kStop = '.',
  kEmptyDict = '}',
  kSetItems = 'u',
  kEmptyList = ']',
  kAppends = 'e',
  kByteNumber = 'K',
  kTwoByteNumber = 'M',
  kFourByteNumber = 'J',
  kLongNumber = 0x8a,
  kTrue = 0x88,
  kFalse = 0x89,
  kNone = 'N',
  kPair = 0x86,
  kText = 'X',
  kPut = 'q',
  kLongPut = 'r',
  kGet = 'h',
  kLongGet = 'j',
};

constexpr uint32_t kBatch = 1000;  // items that a reader keeps before it adds them to their list
constexpr size_t kMostTexts = 1'000'000;
constexpr size_t kMostTextBytes = 1 << 20;

}  // namespace

PickleWriter::PickleWriter(convert::ExportStream& sink) : sink_(sink) {
  byte(kProtocol);
  byte(2);
}

void PickleWriter::little_endian(uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) byte(static_cast<unsigned char>(value >> (8 * i)));
}

void PickleWriter::before_value() {
  if (open_.empty() || open_.back().is_dict) return;
  uint32_t& in_batch = open_.back().in_batch;
  if (in_batch == kBatch) {
    byte(kAppends);
    in_batch = 0;
    flush_if_large();
  }
  if (in_batch++ == 0) byte(kMark);
}

void PickleWriter::begin_dict() {
  before_value();
  byte(kEmptyDict);
  open_.push_back({true});
}

void PickleWriter::end_dict() {
  if (open_.back().in_batch != 0) byte(kSetItems);
  open_.pop_back();
}

void PickleWriter::begin_list() {
  before_value();
  byte(kEmptyList);
  open_.push_back({false});
}

void PickleWriter::end_list() {
  if (open_.back().in_batch != 0) byte(kAppends);
  open_.pop_back();
}

void PickleWriter::key(std::string_view name) {
  if (open_.back().in_batch++ == 0) byte(kMark);
  put_text(name);
}

void PickleWriter::number(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    before_value();
    byte(kLongNumber);
    byte(9);  // a zero byte follows the value, so that it is not negative
    little_endian(value, 8);
    byte(0);
  } else {
    number(static_cast<int64_t>(value));
  }
}

void PickleWriter::number(int64_t value) {
  before_value();
  if (value >= 0 && value <= 0xff) {
    byte(kByteNumber);
    little_endian(static_cast<uint64_t>(value), 1);
  } else if (value >= 0 && value <= 0xffff) {
    byte(kTwoByteNumber);
    little_endian(static_cast<uint64_t>(value), 2);
  } else if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    byte(kFourByteNumber);
    little_endian(static_cast<uint64_t>(value), 4);
  } else {
    byte(kLongNumber);
    byte(8);
    little_endian(static_cast<uint64_t>(value), 8);
  }
}

void PickleWriter::boolean(bool value) {
  before_value();
  byte(value ? kTrue : kFalse);
}

void PickleWriter::none() {
  before_value();
  byte(kNone);
}

void PickleWriter::pair(uint64_t first, uint64_t second) {
  before_value();
  open_.push_back({true});  // the two numbers are not items of the open list
  number(first);
  number(second);
  open_.pop_back();
  byte(kPair);
}

void PickleWriter::text(std::string_view untrusted) {
  before_value();
  put_text(untrusted);
}

void PickleWriter::put_text(std::string_view untrusted) {
  const std::string_view valid = base::valid_utf8(untrusted.substr(0, kMostTextBytes), room_);
  if (const auto known = texts_.find(std::string(valid)); known != texts_.end()) return get(known->second);
  byte(kText);
  little_endian(valid.size(), 4);
  out_.append(valid);
  if (texts_.size() < kMostTexts) texts_.emplace(valid, share());
}

uint32_t PickleWriter::share() {
  const uint32_t number = next_share_++;
  byte(number <= 0xff ? kPut : kLongPut);
  little_endian(number, number <= 0xff ? 1 : 4);
  return number;
}

void PickleWriter::shared(uint32_t number) {
  before_value();
  get(number);
}

void PickleWriter::get(uint32_t number) {
  byte(number <= 0xff ? kGet : kLongGet);
  little_endian(number, number <= 0xff ? 1 : 4);
}

void PickleWriter::flush_if_large() {
  if (out_.size() < convert::kFlushAt) return;
  sink_.write(out_);
  out_.clear();
}

void PickleWriter::finish() {
  byte(kStop);
  sink_.write(out_);
  out_.clear();
}

}  // namespace kymo::memory
