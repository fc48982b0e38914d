#include "serve/tile_rows.h"

#include <algorithm>
#include <tuple>

namespace kymo::serve {

TileSpan TileSpan::of(unsigned level, uint64_t tile) {
  const int64_t from = static_cast<int64_t>(tile << (level + kBinsLog2));
  return {level, from, from + (int64_t{1} << (level + kBinsLog2))};
}

void TileRows::add(const Item& item) {
  if (is_single(item, span_.level)) {
    items_.push_back(item);
  } else {
    const uint32_t row = uint32_t{item.lane} << 16 | item.depth;
    if (row != last_row_ || last_ == nullptr) {
      last_row_ = row;
      last_ = &last_of_row_[row];
    }
    const int64_t bin = bin_of(item.start, span_.level);
    if (last_->position != SIZE_MAX && last_->bin == bin) return items_[last_->position].merge(item);
    *last_ = {items_.size(), bin};
    items_.push_back(item);
  }
  if (items_.size() >= kCompactAt) compact_items();
}

void TileRows::compact_items() {
  last_of_row_.clear();
  last_ = nullptr;
  const auto order = [](const Item& item) { return std::tuple(item.lane, item.depth, item.start, item.index); };
  std::sort(items_.begin(), items_.end(), [&](const Item& a, const Item& b) { return order(a) < order(b); });
  // The last run of the row, since a single range may be between two parts of one bin.
  size_t kept = 0, run = SIZE_MAX;
  for (const Item& item : items_) {
    if (!is_single(item, span_.level)) {
      if (run != SIZE_MAX && items_[run].same_row(item) &&
          bin_of(items_[run].start, span_.level) == bin_of(item.start, span_.level)) {
        items_[run].merge(item);
        continue;
      }
      run = kept;
    }
    items_[kept++] = item;
  }
  items_.resize(kept);
  if (kept > kMaxItems) {
    items_.resize(kMaxItems);
    truncated_ = true;
  }
}

void TileRows::add(const InstantBin& instant) {
  if (!instants_.empty() && instants_.back().kind == instant.kind &&
      bin_of(instants_.back().time, span_.level) == bin_of(instant.time, span_.level))
    return instants_.back().merge(instant);
  instants_.push_back(instant);
  if (instants_.size() >= kCompactAt) compact_instants();
}

void TileRows::compact_instants() {
  const auto order = [&](const InstantBin& bin) {
    return std::tuple(bin_of(bin.time, span_.level), bin.kind, bin.time, bin.index);
  };
  std::sort(instants_.begin(), instants_.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  size_t kept = 0;
  for (const InstantBin& instant : instants_) {
    if (kept > 0 && instants_[kept - 1].kind == instant.kind &&
        bin_of(instants_[kept - 1].time, span_.level) == bin_of(instant.time, span_.level))
      instants_[kept - 1].merge(instant);
    else
      instants_[kept++] = instant;
  }
  instants_.resize(kept);
  if (kept > kMaxItems) {
    instants_.resize(kMaxItems);
    truncated_ = true;
  }
}

void TileRows::add(const CounterBin& value) {
  if (!counters_.empty() && bin_of(counters_.back().time, span_.level) == bin_of(value.time, span_.level))
    return counters_.back().merge(value);
  counters_.push_back(value);
}

void TileRows::finish() {
  compact_items();
  compact_instants();
  std::stable_sort(counters_.begin(), counters_.end(), [&](const auto& a, const auto& b) {
    return bin_of(a.time, span_.level) < bin_of(b.time, span_.level);
  });
  size_t kept = 0;
  for (const CounterBin& value : counters_) {
    if (kept > 0 && bin_of(counters_[kept - 1].time, span_.level) == bin_of(value.time, span_.level))
      counters_[kept - 1].merge(value);
    else
      counters_[kept++] = value;
  }
  counters_.resize(kept);
  if (before_) counters_.insert(counters_.begin(), *before_);
}

}  // namespace kymo::serve
