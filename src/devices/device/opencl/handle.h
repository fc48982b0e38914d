// Owns one reference to an OpenCL object.
#pragma once

#include <utility>

#include "device/opencl/api.h"

namespace kymo::device::opencl {

template <class T>
class Handle {
 public:
  using Release = cl_int (*)(T);

  Handle() = default;
  Handle(T object, Release release) : object_(object), release_(release) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) release_(object_);
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
  Release release_ = nullptr;
};

using Event = Handle<cl_event>;
using CommandQueue = Handle<cl_command_queue>;

}  // namespace kymo::device::opencl
