// The records of performance events, from all rings in the order of their times.
#pragma once

#include <utility>

#include "sample/perf_events.h"
#include "sample/record_source.h"

namespace kymo::sample {

class PerfSource : public RecordSource {
 public:
  explicit PerfSource(PerfEvents events) : events_(std::move(events)) {}

  void wait(int milliseconds) override { events_.wait(milliseconds); }
  void wake() override { events_.wake(); }
  void read(bool is_last, const Handle& handle) override;
  std::optional<uint64_t> page_faults() const override { return events_.page_faults(); }
  bool is_complete() const override { return true; }

 private:
  PerfEvents events_;
};

}  // namespace kymo::sample
