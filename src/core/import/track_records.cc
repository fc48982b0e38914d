#include "import/track_records.h"

#include <algorithm>
#include <utility>

namespace kymo::import {
namespace {

using Kind = ImportedRecord::Kind;

}  // namespace

TrackRecords::TrackRecords(std::vector<EventBlock> blocks) : blocks_(std::move(blocks)) {
  const ImportedRecord* last = nullptr;
  for (EventBlock& block : blocks_) {
    if (block.records.empty()) continue;
    if (!block.is_sorted) block.check_order();
    is_sorted_ = is_sorted_ && block.is_sorted && (last == nullptr || !comes_first(block.records.front(), *last));
    last = &block.records.back();
  }
}

void TrackRecords::flatten() {
  if (std::exchange(is_flat_, true)) return;
  size_t count = 0;
  for (const EventBlock& block : blocks_) count += block.records.size();
  flat_.reserve(count);
  number_blocks();
  for (EventBlock& block : blocks_) {
    flat_.insert(flat_.end(), block.records.begin(), block.records.end());
    block.records = {};
  }
}

void TrackRecords::number_blocks() {
  for (uint32_t i = 0; i < blocks_.size(); ++i)
    for (ImportedRecord& record : blocks_[i].records) record.block = i;
}

uint64_t TrackRecords::pair_ends() {
  if (std::none_of(blocks_.begin(), blocks_.end(), [](const EventBlock& block) { return block.has_parts; })) return 0;
  flatten();
  std::vector<uint32_t> parts;
  for (uint32_t i = 0; i < flat_.size(); ++i)
    if (flat_[i].kind == Kind::Begin || flat_[i].kind == Kind::End) parts.push_back(i);
  std::stable_sort(parts.begin(), parts.end(), [&](uint32_t a, uint32_t b) { return flat_[a].start < flat_[b].start; });
  std::vector<uint32_t> open;
  uint64_t unmatched = 0;
  for (const uint32_t part : parts) {
    ImportedRecord& record = flat_[part];
    if (record.kind == Kind::Begin) {
      record.kind = Kind::Range;
      record.end = ImportedRecord::kNever;
      open.push_back(part);
    } else if (!open.empty()) {
      flat_[open.back()].end = record.start;
      open.pop_back();
    } else {
      ++unmatched;
    }
  }
  std::erase_if(flat_,
                [](const ImportedRecord& record) { return record.kind == Kind::End || record.kind == Kind::Dropped; });
  return unmatched;
}

void TrackRecords::sort() {
  if (is_flat_) is_sorted_ = std::is_sorted(flat_.begin(), flat_.end(), comes_first);
  if (std::exchange(is_sorted_, true)) return;
  flatten();
  std::stable_sort(flat_.begin(), flat_.end(), comes_first);
}

std::vector<EventBlock> TrackRecords::take_blocks() {
  for (const ImportedRecord& record : flat_) blocks_[record.block].records.push_back(record);
  flat_ = {};
  is_flat_ = false;
  for (EventBlock& block : blocks_) block.has_parts = false;
  return std::move(blocks_);
}

}  // namespace kymo::import
