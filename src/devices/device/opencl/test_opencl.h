// For tests: an Api like the one of NVIDIA's driver. Programs are PTX, device memory is host memory, and a kernel runs
// when it is queued. All that a kernel does is to store the timer: kymo_timer at its address, a kernel with stamps
// (ptx.h) as its Stamp says.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/opencl/context.h"
#include "device/ptx/ptx.h"

namespace kymo::device::opencl {

class TestOpenCl {
 public:
  static constexpr uint64_t kKernelTime = 64, kEventDelay = 4096;  // an event begins earlier and ends later

  std::string ptx = ".version 9.0\n.target sm_90, texmode_independent\n.entry f(\n)\n{\n ret;\n}\n";
  uint64_t timer = 1'000'000'000'000;
  uint64_t profiling_offset = 0;  // of the driver's times to the timer
  bool rejects_binaries = false;
  cl_int status = CL_COMPLETE;  // of all events
  int binaries_read = 0, kernel_events = 0, markers = 0, copies = 0;
  std::vector<Stamp> stamps;  // what each launch of a kernel with stamps got

  TestOpenCl() { instance() = this; }
  ~TestOpenCl() { instance() = nullptr; }
  TestOpenCl(const TestOpenCl&) = delete;
  TestOpenCl& operator=(const TestOpenCl&) = delete;

  static FoundDevice device() {
    FoundDevice device;
    device.is_cpu = true;  // any memory is page-locked memory
    device.makes_ptx = true;
    device.info.driver = "test";
    return device;
  }

  std::shared_ptr<const Api> api() {
    auto api = std::make_shared<Api>();
    add_objects(*api);
    add_programs(*api);
    add_work(*api);
    add_events(*api);
    return api;
  }

 private:
  struct Program {
    std::string binary;
    bool from_binary = false;
  };
  struct Kernel {
    std::string name;
    bool has_stamp = false;
    std::map<cl_uint, std::vector<std::byte>> arguments;
  };
  struct Event {
    uint64_t start = 0, end = 0;
  };

  static TestOpenCl*& instance() {
    static TestOpenCl* one = nullptr;
    return one;
  }
  template <class T>
  static T handle(uintptr_t value = 1) {
    return reinterpret_cast<T>(value);
  }
  template <class T, class H>
  static T& of(H handle) {
    return *reinterpret_cast<T*>(handle);
  }

  static void make_event(cl_event* event, uint64_t start, uint64_t end) {
    if (event == nullptr) return;
    instance()->events_.push_back(std::make_unique<Event>(Event{start, end}));
    *event = reinterpret_cast<cl_event>(instance()->events_.back().get());
  }

  static void add_objects(Api& api) {
    api.clCreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*, auto, void*, cl_int* code) {
      *code = CL_SUCCESS;
      return handle<cl_context>();
    };
    api.clReleaseContext = [](cl_context) { return CL_SUCCESS; };
    api.clCreateCommandQueueWithProperties = [](cl_context, cl_device_id, const cl_queue_properties* with,
                                                cl_int* code) {
      *code = CL_SUCCESS;
      return handle<cl_command_queue>(with != nullptr ? 2 : 1);
    };
    api.clReleaseCommandQueue = [](cl_command_queue) { return CL_SUCCESS; };
    api.clSVMAlloc = [](cl_context, cl_svm_mem_flags, size_t bytes, cl_uint) { return std::calloc(bytes, 1); };
    api.clSVMFree = [](cl_context, void* memory) { std::free(memory); };
    api.clFlush = [](cl_command_queue) { return CL_SUCCESS; };
    api.clFinish = [](cl_command_queue) { return CL_SUCCESS; };
  }

  static cl_program make_program(std::string binary, bool from_binary) {
    instance()->programs_.push_back(std::make_unique<Program>(Program{std::move(binary), from_binary}));
    return reinterpret_cast<cl_program>(instance()->programs_.back().get());
  }

  static void add_programs(Api& api) {
    api.clCreateProgramWithSource = [](cl_context, cl_uint, const char**, const size_t*, cl_int* code) {
      *code = CL_SUCCESS;
      return make_program(instance()->ptx + '\0', false);
    };
    api.clCreateProgramWithBinary = [](cl_context, cl_uint, const cl_device_id*, const size_t* size,
                                       const unsigned char** bytes, cl_int* taken, cl_int* code) {
      *taken = *code = CL_SUCCESS;
      return make_program(std::string(reinterpret_cast<const char*>(*bytes), *size), true);
    };
    api.clBuildProgram = [](cl_program program, cl_uint, const cl_device_id*, const char*, auto, void*) {
      const bool rejected = of<Program>(program).from_binary && instance()->rejects_binaries;
      return rejected ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
    };
    api.clReleaseProgram = [](cl_program) { return CL_SUCCESS; };
    api.clGetProgramInfo = [](cl_program program, cl_program_info what, size_t, void* value, size_t*) {
      const std::string& binary = of<Program>(program).binary;
      if (what == CL_PROGRAM_BINARY_SIZES) {
        *static_cast<size_t*>(value) = binary.size();
      } else {
        ++instance()->binaries_read;
        std::memcpy(*static_cast<void**>(value), binary.data(), binary.size());
      }
      return CL_SUCCESS;
    };
    api.clCreateKernel = [](cl_program program, const char* name, cl_int* code) {
      *code = CL_SUCCESS;
      const bool has_stamp = of<Program>(program).binary.find("_kymo_stamp") != std::string::npos;
      instance()->kernels_.push_back(std::make_unique<Kernel>(Kernel{name, has_stamp, {}}));
      return reinterpret_cast<cl_kernel>(instance()->kernels_.back().get());
    };
    api.clReleaseKernel = [](cl_kernel) { return CL_SUCCESS; };
    api.clGetKernelWorkGroupInfo = [](cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void* value,
                                      size_t*) {
      *static_cast<size_t*>(value) = 256;
      return CL_SUCCESS;
    };
    api.clSetKernelArg = [](cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
      const auto* first = static_cast<const std::byte*>(value);
      of<Kernel>(kernel).arguments[index].assign(first, first + bytes);
      return CL_SUCCESS;
    };
  }

  void run(const Kernel& kernel) {
    const std::vector<std::byte> last =
        kernel.arguments.empty() ? std::vector<std::byte>() : kernel.arguments.rbegin()->second;
    if (kernel.name == kTimerKernelName) {
      uint64_t* to = nullptr;
      std::memcpy(&to, last.data(), sizeof to);
      *to = timer;
    } else if (kernel.has_stamp) {
      Stamp stamp;
      std::memcpy(&stamp, last.data(), sizeof stamp);
      stamps.push_back(stamp);
      if (stamp.start != 0) *reinterpret_cast<uint64_t*>(stamp.start) = timer;
      if (stamp.ends != 0) *reinterpret_cast<uint64_t*>(stamp.ends) = timer + kKernelTime;
    }
    timer += kKernelTime;
  }

  static void add_work(Api& api) {
    api.clEnqueueNDRangeKernel = [](cl_command_queue, cl_kernel kernel, cl_uint, const size_t*, const size_t*,
                                    const size_t*, cl_uint, const cl_event*, cl_event* event) {
      const uint64_t start = instance()->timer - kEventDelay;
      instance()->run(of<Kernel>(kernel));
      if (of<Kernel>(kernel).name != kTimerKernelName) instance()->kernel_events += event != nullptr ? 1 : 0;
      make_event(event, start, instance()->timer + kEventDelay);
      return CL_SUCCESS;
    };
    api.clEnqueueSVMMemFill = [](cl_command_queue, void* to, const void* pattern, size_t pattern_bytes, size_t bytes,
                                 cl_uint, const cl_event*, cl_event* event) {
      for (size_t at = 0; at < bytes; at += pattern_bytes)
        std::memcpy(static_cast<std::byte*>(to) + at, pattern, pattern_bytes);
      make_event(event, instance()->timer, instance()->timer);
      return CL_SUCCESS;
    };
    api.clEnqueueSVMMemcpy = [](cl_command_queue, cl_bool, void* to, const void* from, size_t bytes, cl_uint,
                                const cl_event*, cl_event* event) {
      std::memcpy(to, from, bytes);
      ++instance()->copies;
      make_event(event, instance()->timer, instance()->timer);
      return CL_SUCCESS;
    };
  }

  static void add_events(Api& api) {
    api.clEnqueueMarkerWithWaitList = [](cl_command_queue, cl_uint, const cl_event*, cl_event* event) {
      ++instance()->markers;
      make_event(event, instance()->timer, instance()->timer);
      return CL_SUCCESS;
    };
    api.clEnqueueBarrierWithWaitList = [](cl_command_queue, cl_uint, const cl_event*, cl_event*) { return CL_SUCCESS; };
    api.clWaitForEvents = [](cl_uint, const cl_event*) { return CL_SUCCESS; };
    api.clGetEventInfo = [](cl_event, cl_event_info, size_t, void* value, size_t*) {
      *static_cast<cl_int*>(value) = instance()->status;
      return CL_SUCCESS;
    };
    api.clGetEventProfilingInfo = [](cl_event event, cl_profiling_info what, size_t, void* value, size_t*) {
      const Event& times = of<Event>(event);
      const uint64_t time = what == CL_PROFILING_COMMAND_START ? times.start : times.end;
      *static_cast<cl_ulong*>(value) = time + instance()->profiling_offset;
      return CL_SUCCESS;
    };
    api.clReleaseEvent = [](cl_event) { return CL_SUCCESS; };
  }

  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Event>> events_;
};

}  // namespace kymo::device::opencl
