// A small OpenCL driver for the layer's tests. Its commands complete when a test says so, on any thread, or during the
// call that waits for them. Its device's clock is the host's with an offset, so that tests can check the conversion.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "inject/opencl/layer.h"

struct _cl_event {
  int references = 1;
  cl_command_queue queue = nullptr;
  cl_int status = CL_QUEUED;
  cl_ulong times[4] = {};
  void(CL_CALLBACK* callback)(cl_event, cl_int, void*) = nullptr;
  void* data = nullptr;
};
struct _cl_command_queue {
  std::vector<cl_queue_properties> properties;
  int references = 1;
};
struct _cl_kernel {
  std::string name;
};
struct _cl_mem {
  size_t bytes = 0;
  void(CL_CALLBACK* destroyed)(cl_mem, void*) = nullptr;
  void* data = nullptr;
};
struct _cl_context {};
struct _cl_device_id {};
struct _cl_platform_id {};

namespace kymo::inject::opencl {

struct TestDriver {
  static constexpr uint64_t kClockOffset = 123'456'789'000;  // the device's clock is ahead by this
  static constexpr uint64_t kDuration = 5'000;

  static inline _cl_platform_id platform;
  static inline _cl_device_id device;
  static inline std::recursive_mutex mutex;
  static inline std::vector<cl_event> pending;
  static inline int events = 0;  // that exist
  static inline bool refuses_profiling = false, refuses_callbacks = false;

  static uint64_t now() { return base::monotonic_ns() + kClockOffset; }

  static cl_event make_event(cl_command_queue queue) {
    auto* event = new _cl_event;
    event->queue = queue;
    event->times[0] = event->times[1] = now();
    const std::lock_guard lock(mutex);
    ++events;
    return event;
  }

  static cl_int enqueue(cl_command_queue queue, cl_event* wanted, bool blocking = false) {
    cl_event event = make_event(queue);
    ++event->references;  // the driver's own, until it completes
    if (wanted != nullptr)
      *wanted = event;
    else
      release(event);
    {
      const std::lock_guard lock(mutex);
      pending.push_back(event);
    }
    if (blocking) complete(event);
    return CL_SUCCESS;
  }

  static void complete(cl_event event, cl_int status = CL_COMPLETE) {
    decltype(_cl_event::callback) callback = nullptr;
    {
      const std::lock_guard lock(mutex);
      std::erase(pending, event);
      event->times[2] = now();
      event->times[3] = event->times[2] + kDuration;
      event->status = status;
      std::swap(callback, event->callback);
    }
    while (now() < event->times[3]) {
    }
    if (callback != nullptr) callback(event, status, event->data);
    release(event);
  }

  static void complete_all() {
    while (true) {
      cl_event event = nullptr;
      {
        const std::lock_guard lock(mutex);
        if (pending.empty()) return;
        event = pending.front();
        pending.erase(pending.begin());
      }
      complete(event);
    }
  }

  static cl_int release(cl_event event) {
    const std::lock_guard lock(mutex);
    if (--event->references == 0) {
      --events;
      delete event;
    }
    return CL_SUCCESS;
  }

  template <class T>
  static cl_int answer(const T& value, size_t size, void* to, size_t* returned) {
    if (to != nullptr && size < sizeof value) return CL_INVALID_VALUE;
    if (to != nullptr) memcpy(to, &value, sizeof value);
    if (returned != nullptr) *returned = sizeof value;
    return CL_SUCCESS;
  }
  static cl_int answer(const std::string& text, size_t size, void* to, size_t* returned) {
    if (to != nullptr && size < text.size() + 1) return CL_INVALID_VALUE;
    if (to != nullptr) memcpy(to, text.c_str(), text.size() + 1);
    if (returned != nullptr) *returned = text.size() + 1;
    return CL_SUCCESS;
  }

  static bool has_profiling(cl_command_queue queue) {
    for (size_t i = 0; i + 1 < queue->properties.size(); i += 2)
      if (queue->properties[i] == CL_QUEUE_PROPERTIES)
        return (queue->properties[i + 1] & CL_QUEUE_PROFILING_ENABLE) != 0;
    return false;
  }

  static cl_icd_dispatch table() {
    cl_icd_dispatch table{};
    table.clGetPlatformInfo = [](cl_platform_id, cl_platform_info, size_t size, void* to, size_t* returned) {
      return answer(std::string("Test platform"), size, to, returned);
    };
    table.clGetDeviceIDs = [](cl_platform_id, cl_device_type, cl_uint count, cl_device_id* to, cl_uint* returned) {
      if (to != nullptr && count != 0) *to = &device;
      if (returned != nullptr) *returned = 1;
      return CL_SUCCESS;
    };
    table.clGetDeviceInfo = [](cl_device_id, cl_device_info what, size_t size, void* to, size_t* returned) {
      if (what == CL_DEVICE_PLATFORM) return answer(&platform, size, to, returned);
      if (what == CL_DEVICE_TYPE) return answer(cl_device_type{CL_DEVICE_TYPE_GPU}, size, to, returned);
      return answer(std::string(what == CL_DEVICE_NAME ? "Test device" : "text"), size, to, returned);
    };
    table.clCreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*,
                               void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                               cl_int*) { return new _cl_context; };
    table.clGetContextInfo = [](cl_context, cl_context_info, size_t size, void* to, size_t* returned) {
      return answer(&device, size, to, returned);
    };
    table.clCreateCommandQueueWithProperties = [](cl_context, cl_device_id, const cl_queue_properties* properties,
                                                  cl_int* code) {
      auto* queue = new _cl_command_queue;
      for (; properties != nullptr && *properties != 0; properties += 2)
        queue->properties.insert(queue->properties.end(), properties, properties + 2);
      if (code != nullptr) *code = CL_SUCCESS;
      if (!refuses_profiling || !has_profiling(queue)) return queue;
      delete queue;
      if (code != nullptr) *code = CL_INVALID_QUEUE_PROPERTIES;
      return static_cast<cl_command_queue>(nullptr);
    };
    table.clRetainCommandQueue = [](cl_command_queue queue) { return ++queue->references, CL_SUCCESS; };
    table.clReleaseCommandQueue = [](cl_command_queue queue) {
      if (--queue->references == 0) delete queue;
      return CL_SUCCESS;
    };
    table.clGetCommandQueueInfo = [](cl_command_queue queue, cl_command_queue_info what, size_t size, void* to,
                                     size_t* returned) {
      if (what != CL_QUEUE_PROPERTIES) return answer(static_cast<cl_context>(nullptr), size, to, returned);
      cl_command_queue_properties bits = 0;
      for (size_t i = 0; i + 1 < queue->properties.size(); i += 2) bits = queue->properties[i + 1];
      return answer(bits, size, to, returned);
    };
    table.clCreateKernel = [](cl_program, const char* name, cl_int*) { return new _cl_kernel{name}; };
    table.clGetKernelInfo = [](cl_kernel kernel, cl_kernel_info, size_t size, void* to, size_t* returned) {
      return answer(kernel->name, size, to, returned);
    };
    table.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel, cl_uint dimensions, const size_t*,
                                      const size_t*, const size_t*, cl_uint, const cl_event*, cl_event* event) {
      return dimensions > 3 ? CL_INVALID_WORK_DIMENSION : enqueue(queue, event);
    };
    table.clEnqueueReadBuffer = [](cl_command_queue queue, cl_mem, cl_bool blocking, size_t, size_t, void*, cl_uint,
                                   const cl_event*,
                                   cl_event* event) { return enqueue(queue, event, blocking == CL_TRUE); };
    table.clEnqueueMarkerWithWaitList = [](cl_command_queue queue, cl_uint, const cl_event*, cl_event* event) {
      return enqueue(queue, event);
    };
    table.clRetainEvent = [](cl_event event) {
      const std::lock_guard lock(mutex);
      ++event->references;
      return CL_SUCCESS;
    };
    table.clReleaseEvent = release;
    table.clGetEventInfo = [](cl_event event, cl_event_info what, size_t size, void* to, size_t* returned) {
      if (what == CL_EVENT_COMMAND_QUEUE) return answer(event->queue, size, to, returned);
      return answer(event->status, size, to, returned);
    };
    table.clGetEventProfilingInfo = [](cl_event event, cl_profiling_info what, size_t size, void* to,
                                       size_t* returned) {
      if (!has_profiling(event->queue)) return CL_PROFILING_INFO_NOT_AVAILABLE;
      return answer(event->times[what - CL_PROFILING_COMMAND_QUEUED], size, to, returned);
    };
    table.clSetEventCallback = [](cl_event event, cl_int, void(CL_CALLBACK * callback)(cl_event, cl_int, void*),
                                  void* data) {
      if (refuses_callbacks) return CL_OUT_OF_RESOURCES;
      {
        const std::lock_guard lock(mutex);
        event->data = data;
        if (event->status > CL_COMPLETE) {
          event->callback = callback;
          return CL_SUCCESS;
        }
      }
      callback(event, event->status, data);
      return CL_SUCCESS;
    };
    table.clCreateBuffer = [](cl_context, cl_mem_flags, size_t bytes, void*, cl_int*) { return new _cl_mem{bytes}; };
    table.clGetMemObjectInfo = [](cl_mem memory, cl_mem_info, size_t size, void* to, size_t* returned) {
      return answer(memory->bytes, size, to, returned);
    };
    table.clSetMemObjectDestructorCallback = [](cl_mem memory, void(CL_CALLBACK * callback)(cl_mem, void*),
                                                void* data) {
      memory->destroyed = callback;
      memory->data = data;
      return CL_SUCCESS;
    };
    table.clReleaseMemObject = [](cl_mem memory) {
      if (memory->destroyed != nullptr) memory->destroyed(memory, memory->data);
      delete memory;
      return CL_SUCCESS;
    };
    table.clGetImageInfo = [](cl_mem, cl_image_info, size_t size, void* to, size_t* returned) {
      return answer(size_t{4}, size, to, returned);
    };
    table.clFinish = [](cl_command_queue) { return complete_all(), CL_SUCCESS; };
    table.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id, const char* name) -> void* {
      return std::string_view(name) == "clMemFreeINTEL" || std::string_view(name) == "clUnknownXYZ" ? &platform
                                                                                                    : nullptr;
    };
    return table;
  }
};

}  // namespace kymo::inject::opencl
