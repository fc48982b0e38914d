// Where the records of a sampler come from: performance events of the kernel, or timers inside the programs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sample/perf_record.h"

namespace kymo::sample {

class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Waits until there is much to read, for wake(), or for this time.
  virtual void wait(int milliseconds) = 0;
  // From any thread: ends wait(), now and from now on.
  virtual void wake() = 0;
  // Hands over what has arrived, in its order. The views in a record are valid during the call.
  using Handle = std::function<void(const Record&)>;
  virtual void read(bool is_last, const Handle& handle) = 0;

  // Of all processes together, until now. Nothing: not counted.
  virtual std::optional<uint64_t> page_faults() const = 0;
  // True if each change of a process is reported: code that is loaded, names, ends. Otherwise, /proc has to be read.
  virtual bool is_complete() const = 0;
};

}  // namespace kymo::sample
