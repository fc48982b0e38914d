#include "device/stamps/stamps.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kymo::device {

uint64_t warps_of(const Launch& launch) {
  constexpr uint64_t kWarp = 32;
  const auto groups = [](uint64_t threads, uint64_t group) { return (threads + group - 1) / group; };
  return groups(launch.threads.x, launch.group.x) * groups(launch.threads.y, launch.group.y) *
         groups(launch.threads.z, launch.group.z) * groups(launch.group.volume(), kWarp);
}

// ---- Launches ------------------------------------------------------------------------------------------------------

uint64_t Stamps::words_for(uint64_t warps) {
  if (warps > kMaxWarps) return 0;
  if (warps <= kWordWarps) return 1;
  return std::min(kWideWords, std::bit_ceil((warps + kWideWordWarps - 1) / kWideWordWarps));
}

// Permanently false if something is missing: events are used instead.
bool Stamps::allocate() {
  if (tried_) return places_.has_value();
  tried_ = true;
  const auto offset = driver_.timer_offset();
  if (!offset) return false;
  offset_ = *offset;
  words_.resize(kPlaces);
  places_ = driver_.allocate(kPlaces * sizeof(Place));
  return places_.has_value();
}

bool Stamps::allocate_wide() {
  if (!tried_wide_) {
    tried_wide_ = true;
    wide_places_ = driver_.allocate(kWidePlaces * kWideBytes);
  }
  return wide_places_.has_value();
}

std::optional<Stamp> Stamps::take(uint64_t warps) {
  if (!allocate() || launched_.all - redeemed_.all == kPlaces) return std::nullopt;
  const uint64_t words = words_for(warps);
  Stamp stamp;
  stamp.start = places_->device + launched_.all % kPlaces * sizeof(Place);
  stamp.ends = stamp.start + offsetof(Place, end);
  if (words == 0) stamp.ends = 0;
  if (words <= 1) return stamp;
  if (!allocate_wide() || launched_.wide - redeemed_.wide == kWidePlaces) return std::nullopt;
  stamp.ends = wide_places_->device + launched_.wide % kWidePlaces * kWideBytes;
  stamp.mask = static_cast<uint32_t>(words - 1);
  return stamp;
}

void Stamps::launched(uint64_t warps) {
  const uint64_t words = words_for(warps);
  words_[launched_.all % kPlaces] = static_cast<uint8_t>(words);
  ++launched_.all;
  if (words > 1) ++launched_.wide;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

// Copies the places `begin` to `end` of a ring, in two parts if the range wraps.
void Stamps::copy_part(const StampBlock& block, size_t size, uint64_t places, uint64_t begin, uint64_t end) {
  while (begin < end) {
    const uint64_t first = begin % places, count = std::min(end - begin, places - first);
    driver_.copy(block, first * size, count * size);
    begin += count;
  }
}

void Stamps::copy() {
  copy_part(*places_, sizeof(Place), kPlaces, read_.all, covered_.all);
  if (wide_places_) copy_part(*wide_places_, kWideBytes, kWidePlaces, read_.wide, covered_.wide);
  driver_.end_copies();
  reading_ = Reading::Copied;
}

void Stamps::read_all() {
  if (read_.all == launched_.all) return;
  covered_ = launched_;
  copy();  // after a copy that may be pending, whose slots are among these
  driver_.wait();
  read_ = covered_;
  reading_ = Reading::None;
}

bool Stamps::advance() {
  if (reading_ == Reading::None) {
    driver_.fence();
    covered_ = launched_;
    reading_ = Reading::Fenced;
  }
  const StampProgress progress = driver_.look();
  if (progress == StampProgress::Pending) return true;
  if (progress == StampProgress::Failed) return false;
  if (reading_ == Reading::Fenced) {
    copy();
  } else {
    read_ = covered_;
    reading_ = Reading::None;
  }
  return true;
}

Stamps::Place Stamps::oldest() const {
  Place place{};
  std::memcpy(&place, places_->host + redeemed_.all % kPlaces * sizeof place, sizeof place);
  return place;
}

uint64_t Stamps::latest_word(uint64_t words) const {
  if (words == 1) return oldest().end;
  const std::byte* place = wide_places_->host + redeemed_.wide % kWidePlaces * kWideBytes;
  uint64_t latest = 0;
  for (uint64_t i = 0; i < words; ++i) {
    uint64_t end = 0;
    std::memcpy(&end, place + i * kStampLine, sizeof end);
    latest = std::max(latest, end);
  }
  return latest;
}

Redeemed Stamps::redeem(Timing& timing) {
  const bool works = redeemed_.all < read_.all || advance();
  if (works && redeemed_.all >= read_.all) return Redeemed::Pending;
  const uint64_t words = words_[redeemed_.all % kPlaces];
  bool has_times = works;
  if (works) {
    const uint64_t start = oldest().start, end = words == 0 ? 0 : latest_word(words);
    timing = {ticks_of(start), words == 0 ? 0 : ticks_of(end)};
    // False after an exit without a stamp, for example a trap: the slot has an old value.
    has_times = words == 0 || end >= start;
  }
  ++redeemed_.all;
  if (words > 1) ++redeemed_.wide;
  return has_times ? Redeemed::Done : Redeemed::Lost;
}

}  // namespace kymo::device
