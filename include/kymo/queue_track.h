// The work of devices in a trace, for C++: kymo/queue.h with types. The rules are there.
//
//   kymo::QueueTrack queue({.name = "compute", .device_uuid = uuid, .period_numerator = 1, .period_denominator = 1});
//   {
//     kymo::Launch launch("launch saxpy");       // on this thread, to the end of the scope
//     submit(…, launch.correlation());
//   }
//   queue.span("saxpy {}", start, end, correlation, n);   // on the queue, when its times are known
#pragma once

#include <cstdint>
#include <utility>

#include "kymo/annotate.h"
#include "kymo/queue.h"

namespace kymo {

// A queue as an object. The destructor closes it. It can be moved.
class QueueTrack {
 public:
  QueueTrack() noexcept = default;
  explicit QueueTrack(const kymo_queue_info& info) noexcept : queue_(kymo_queue_open(&info)) {}
  QueueTrack(QueueTrack&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)) {}
  QueueTrack& operator=(QueueTrack&& other) noexcept {
    std::swap(queue_, other.queue_);
    return *this;
  }
  ~QueueTrack() { kymo_queue_close(queue_); }

  template <class... Args>
  void span(const Label& label, uint64_t start, uint64_t end, uint64_t correlation, const Args&... args) noexcept {
    if (!detail::recording()) return;
    detail::with_args([&](const kymo_arg* list,
                          uint32_t count) { kymo_queue_span(queue_, &label, list, count, start, end, correlation); },
                      args...);
  }
  template <class... Args>
  void span(Site& site, uint64_t start, uint64_t end, uint64_t correlation, const Args&... args) noexcept {
    if (!detail::recording()) return;
    detail::with_args([&](const kymo_arg* list,
                          uint32_t count) { kymo_queue_span_at(queue_, &site, list, count, start, end, correlation); },
                      args...);
  }
  void clock_pair(uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns, uint64_t error_ns) noexcept {
    kymo_queue_clock_pair(queue_, ticks, monotonic_ns, realtime_ns, error_ns);
  }
  void lost(uint64_t count) noexcept { kymo_queue_lost(queue_, count); }
  kymo_queue* get() const noexcept { return queue_; }

 private:
  kymo_queue* queue_ = nullptr;
};

// A call on this thread, from here to the end of the scope, in one record. It has the correlation of the work it
// causes.
class [[nodiscard]] Launch {
 public:
  explicit Launch(const Label& label) noexcept : label_(label) {
    if (!detail::recording()) return;
    start_ = kymo_ticks();
    correlation_ = kymo_next_correlation();
  }
  ~Launch() {
    if (start_ != 0) kymo_span(&label_, nullptr, 0, start_, correlation_);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  uint64_t correlation() const noexcept { return correlation_; }  // 0: nothing records

 private:
  const Label label_;  // the text it points to must outlive this
  uint64_t start_ = 0, correlation_ = 0;
};

}  // namespace kymo
