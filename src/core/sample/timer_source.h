// The records of timers inside the programs (preload/timers.c), for systems that refuse performance events.
//
// The programs write packets into memory that this object owns. Their content is checked like any other input.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "sample/perf_record.h"

namespace kymo::sample {

class TimerSource : public RecordSource {
 public:
  // Throws kymo::NotAvailable if the system has no memory for it.
  explicit TimerSource(uint64_t hertz);
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
  void handle_packet(uint64_t slot, const Handle& handle);
  void free_abandoned(const Handle& handle);

  uint64_t hertz_ = 0;
  base::FileDescriptor memory_file_, wake_;
  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0, slots_ = 0;
  uint64_t lost_ = 0;  // reported already
};

}  // namespace kymo::sample
