#include "sample/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kymo::sample {

namespace {

constexpr uint64_t kHeaderBytes = sizeof(perf_event_header);

}  // namespace

void RingReader::discard() {
  ++damaged_;
  tail_ = head_;
  front_bytes_ = 0;
}

base::Bytes RingReader::front() {
  front_bytes_ = 0;
  if (tail_ == head_) return {};
  const uint64_t left = head_ - tail_, size = mask_ + 1;
  if (left > size || left < kHeaderBytes) {
    discard();
    return {};
  }
  // Records are multiples of eight bytes, so a header does not cross the end unless the ring is damaged.
  const uint64_t at = tail_ & mask_;
  if (size - at < kHeaderBytes) {
    discard();
    return {};
  }
  const uint64_t bytes = base::load<uint16_t>(data_ + at + offsetof(perf_event_header, size));
  if (bytes < kHeaderBytes || bytes > left) {
    discard();
    return {};
  }
  front_bytes_ = bytes;
  if (bytes <= size - at) return {data_ + at, bytes};
  joined_.resize(bytes);
  std::memcpy(joined_.data(), data_ + at, size - at);
  std::memcpy(joined_.data() + (size - at), data_, bytes - (size - at));
  return joined_;
}

void RingReader::pop() {
  tail_ += front_bytes_;
  front_bytes_ = 0;
}

PerfRing::PerfRing(int event, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapping = mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (mapping == MAP_FAILED) {
    error_ = errno;
    return;
  }
  mapping_ = mapping;
  mapped_bytes_ = page + bytes;
  reader_ = RingReader(static_cast<const std::byte*>(mapping) + page, bytes);
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      error_(other.error_),
      reader_(std::move(other.reader_)) {}

PerfRing::~PerfRing() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

void PerfRing::refresh() {
  const auto* page = static_cast<const perf_event_mmap_page*>(mapping_);
  reader_.extend(__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE));
}

void PerfRing::release() {
  auto* page = static_cast<perf_event_mmap_page*>(mapping_);
  __atomic_store_n(&page->data_tail, reader_.tail(), __ATOMIC_RELEASE);
}

}  // namespace kymo::sample
