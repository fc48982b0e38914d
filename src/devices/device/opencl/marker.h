// A point in a queue, as an OpenCL event.
#pragma once

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class OpenClMarker final : public Marker {
 public:
  OpenClMarker(const Context& context, bool timing) : context_(context), timing_(timing) {}

  bool reached() override;
  void synchronize() override;
  std::optional<uint64_t> time() override;

  bool timing() const { return timing_; }
  cl_event event() const { return event_.get(); }  // null: never recorded
  void put(Event event, cl_command_queue queue);
  // An event of a queue that is not flushed may never happen: code that waits on another queue must flush first. Once
  // per record.
  void flush();
  bool is_in(cl_command_queue queue) const { return queue_.get() == queue; }

 private:
  const Context& context_;
  const bool timing_;
  bool flushed_ = true;
  Event event_;
  CommandQueue queue_;  // the queue in which it was recorded
};

}  // namespace kymo::device::opencl
