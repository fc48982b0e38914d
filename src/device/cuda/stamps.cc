#include "device/cuda/stamps.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kymo::device::cuda {

Stamps::~Stamps() {
  while_current(context_, [this] {
    const Api& api = context_.api;
    if (reader_ != nullptr) {
      api.stream_synchronize(reader_);
      api.stream_destroy(reader_);
    }
    for (; !ends_.empty(); ends_.pop_front()) unused_.push_back(ends_.front());
    unused_.push_back(fence_);
    unused_.push_back(copied_);
    for (const CUevent event : unused_)
      if (event != nullptr) api.event_destroy(event);
    for (const CUdeviceptr memory : {places_, wide_places_})
      if (memory != 0) api.memory_free(memory);
    for (void* memory : {static_cast<void*>(places_read_), static_cast<void*>(wide_read_)})
      if (memory != nullptr) api.host_free(memory);
  });
}

// ---- Launches ------------------------------------------------------------------------------------------------------

uint64_t Stamps::words_for(uint64_t warps) {
  if (warps > kMaxWarps) return 0;
  return warps <= kWordWarps ? 1 : std::bit_ceil((warps + kWordWarps - 1) / kWordWarps);
}

CUdeviceptr Stamps::zeroed(size_t bytes) const {
  CUdeviceptr memory = 0;
  if (context_.api.memory_allocate(&memory, bytes) != CUDA_SUCCESS) return 0;
  if (context_.api.fill_8(memory, 0, bytes, stream_) == CUDA_SUCCESS) return memory;
  context_.api.memory_free(memory);
  return 0;
}

void* Stamps::pinned(size_t bytes) const {
  void* memory = nullptr;
  return context_.api.host_allocate(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS ? memory : nullptr;
}

// Permanently false if something is missing: events are used instead.
bool Stamps::allocate() {
  if (tried_) return reader_ != nullptr;
  tried_ = true;
  const auto offset = timer_.get();
  if (!offset) return false;
  offset_ = *offset;
  const Api& api = context_.api;
  places_ = zeroed(kPlaces * sizeof(Place));
  places_read_ = static_cast<Place*>(pinned(kPlaces * sizeof(Place)));
  words_.resize(kPlaces);
  if (places_ == 0 || places_read_ == nullptr) return false;
  if (api.event_create(&fence_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
      api.event_create(&copied_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return false;
  return api.stream_create(&reader_, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS;
}

bool Stamps::allocate_wide() {
  if (!tried_wide_) {
    tried_wide_ = true;
    wide_places_ = zeroed(kWidePlaces * kWideBytes);
    wide_read_ = static_cast<std::byte*>(pinned(kWidePlaces * kWideBytes));
  }
  return wide_places_ != 0 && wide_read_ != nullptr;
}

std::optional<Stamp> Stamps::take(uint64_t warps) {
  if (!allocate() || launched_.all - redeemed_.all == kPlaces) return std::nullopt;
  const uint64_t words = words_for(warps);
  Stamp stamp;
  stamp.start = places_ + launched_.all % kPlaces * sizeof(Place);
  stamp.ends = stamp.start + offsetof(Place, end);
  if (words == 0) stamp.ends = 0;
  if (words <= 1) return stamp;
  if (!allocate_wide() || launched_.wide - redeemed_.wide == kWidePlaces) return std::nullopt;
  stamp.ends = wide_places_ + launched_.wide % kWidePlaces * kWideBytes;
  stamp.mask = static_cast<uint32_t>(words - 1);
  return stamp;
}

void Stamps::launched(uint64_t warps) {
  const uint64_t words = words_for(warps);
  if (words == 0) {
    clock_.tend();
    if (unused_.empty()) {
      CUevent event = nullptr;
      check(context_.api, context_.api.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
      unused_.push_back(event);
    }
    check(context_.api, context_.api.event_record(unused_.back(), stream_), "cuEventRecord");
    ends_.push_back(unused_.back());
    unused_.pop_back();
  }
  words_[launched_.all % kPlaces] = static_cast<uint8_t>(words);
  ++launched_.all;
  if (words > 1) ++launched_.wide;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

void Stamps::fence() {
  check(context_.api, context_.api.event_record(fence_, stream_), "cuEventRecord");
  covered_ = launched_;
  reading_ = Reading::Fenced;
}

// Copies the places `begin` to `end` of a ring, in two parts if the range wraps.
void Stamps::copy_part(void* to, CUdeviceptr from, size_t size, uint64_t places, uint64_t begin, uint64_t end) {
  while (begin < end) {
    const uint64_t first = begin % places, count = std::min(end - begin, places - first);
    check(context_.api,
          context_.api.copy_to_host(static_cast<std::byte*>(to) + first * size, from + first * size, count * size,
                                    reader_),
          "cuMemcpyDtoHAsync");
    begin += count;
  }
}

void Stamps::copy() {
  copy_part(places_read_, places_, sizeof(Place), kPlaces, read_.all, covered_.all);
  copy_part(wide_read_, wide_places_, kWideBytes, kWidePlaces, read_.wide, covered_.wide);
  check(context_.api, context_.api.event_record(copied_, reader_), "cuEventRecord");
  reading_ = Reading::Copied;
}

void Stamps::read_all() {
  if (read_.all == launched_.all) return;
  covered_ = launched_;
  copy();  // after a copy that may be pending, whose slots are among these
  check(context_.api, context_.api.stream_synchronize(reader_), "cuStreamSynchronize");
  read_ = covered_;
  reading_ = Reading::None;
}

bool Stamps::advance() {
  if (reading_ == Reading::None) fence();
  const CUresult result = context_.api.event_query(reading_ == Reading::Fenced ? fence_ : copied_);
  if (result == CUDA_ERROR_NOT_READY) return true;
  if (result != CUDA_SUCCESS) return false;
  if (reading_ == Reading::Fenced) {
    copy();
  } else {
    read_ = covered_;
    reading_ = Reading::None;
  }
  return true;
}

uint64_t Stamps::latest_word(uint64_t words) const {
  if (words == 1) return places_read_[redeemed_.all % kPlaces].end;
  const std::byte* place = wide_read_ + redeemed_.wide % kWidePlaces * kWideBytes;
  uint64_t latest = 0;
  for (uint64_t i = 0; i < words; ++i) {
    uint64_t end = 0;
    std::memcpy(&end, place + i * kStampLine, sizeof end);
    latest = std::max(latest, end);
  }
  return latest;
}

uint64_t Stamps::take_end() {
  const CUevent event = ends_.front();
  ends_.pop_front();
  unused_.push_back(event);
  return clock_.ticks_of(event);
}

Redeemed Stamps::redeem(Timing& timing) {
  const bool works = redeemed_.all < read_.all || advance();
  if (works && redeemed_.all >= read_.all) return Redeemed::Pending;
  const uint64_t words = words_[redeemed_.all % kPlaces];
  bool has_times = works;
  if (works) {
    const uint64_t start = places_read_[redeemed_.all % kPlaces].start;
    timing.start = ticks_of(start);
    if (words == 0) {
      timing.end = take_end();
    } else {
      const uint64_t end = latest_word(words);
      timing.end = ticks_of(end);
      has_times = end >= start;  // false after an exit without a stamp, for example a trap: the slot has an old value
    }
  }
  ++redeemed_.all;
  if (words > 1) ++redeemed_.wide;
  return has_times ? Redeemed::Done : Redeemed::Lost;
}

}  // namespace kymo::device::cuda
