// The records that programs write about themselves (preload/timers.c): where the system refuses performance events, and
// of Python.
//
// The programs write packets into memory that this object owns. Their content is checked like any other input.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "sample/perf_events.h"
#include "sample/perf_record.h"

namespace kymo::sample {

class TimerSource : public RecordSource {
 public:
  // `is_beside_kernel`: the kernel samples too, and only Python sends packets. Throws kymo::NotAvailable if the system
  // has no memory for it.
  explicit TimerSource(uint64_t hertz, bool is_beside_kernel = false);
  ~TimerSource() override;
  TimerSource(const TimerSource&) = delete;
  TimerSource& operator=(const TimerSource&) = delete;

  // What the programs need in their environment besides the library itself.
  std::vector<std::pair<std::string, std::string>> environment() const;

  // The rate of the samples: at most that of the kernel's clock, since a CPU clock is looked at only then.
  uint64_t hertz() const { return hertz_; }

  void wait(int milliseconds) override;
  void wake() override;
  void read(bool is_last, const Handle& handle) override;
  std::optional<Counts> counts() const override { return std::nullopt; }
  bool is_complete() const override { return false; }

 private:
  struct Packet {
    uint64_t number;
    uint64_t slot;
  };
  void collect(uint64_t below, std::vector<Packet>& into, std::vector<bool>& is_taken) const;
  static void handle_packet(base::Bytes packet, const Handle& handle);
  void free_abandoned(const Handle& handle);

  friend class DoubleSource;
  // The content of packets that are ready, in their order; frees their slots.
  std::vector<std::vector<std::byte>> take(bool is_last, const Handle& handle_lost);

  uint64_t hertz_ = 0;
  bool is_beside_kernel_;
  base::FileDescriptor memory_file_, wake_;
  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0, slots_ = 0;
  uint64_t lost_ = 0;  // reported already
};

// The kernel's records, and what the threads of Python send about themselves (Record::is_inside), in order of time.
class DoubleSource : public RecordSource {
 public:
  DoubleSource(PerfEvents events, std::unique_ptr<TimerSource> inside)
      : kernel_(std::move(events)), inside_(std::move(inside)) {}

  void wait(int milliseconds) override;
  void wake() override { kernel_.wake(); }
  void read(bool is_last, const Handle& handle) override;
  std::optional<Counts> counts() const override { return kernel_.counts(); }
  bool is_complete() const override { return true; }

 private:
  struct Pending {
    uint64_t time;
    std::vector<std::byte> packet;
  };
  PerfSource kernel_;
  std::unique_ptr<TimerSource> inside_;
  std::deque<Pending> pending_;
};

}  // namespace kymo::sample
