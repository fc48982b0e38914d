// For tests: an Api whose functions record their calls, with a timer that the test advances.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/api.h"

namespace kymo::device::cuda {

struct FakeDriver {
  struct Event {
    uint64_t time = 0;
    bool recorded = false;
  };
  struct LaunchCall {
    std::array<unsigned, 3> grid, group;
    unsigned shared_bytes = 0;
    std::vector<void*> parameters;  // `parameter_count` of them
  };

  uint64_t timer_ns = 1'000'000'000'000;  // of the device, in steps of 32
  bool busy = false;                      // recorded events stay pending
  bool memory_is_real = false;            // device memory is host memory, and copies really copy
  CUresult failure = CUDA_SUCCESS;        // what every call on the context returns
  CUresult module_result = CUDA_SUCCESS;
  CUcontext current = nullptr;
  size_t parameter_count = 0;
  std::vector<std::string> calls;
  std::vector<LaunchCall> launches;
  std::vector<std::unique_ptr<Event>> events;
  int events_destroyed = 0;

  static FakeDriver*& instance() {
    static FakeDriver* fake = nullptr;
    return fake;
  }
  FakeDriver() { instance() = this; }
  ~FakeDriver() { instance() = nullptr; }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  static CUresult note(const char* call) {
    instance()->calls.emplace_back(call);
    return instance()->failure;
  }

  Api api() {
    Api api;
    api.error_name = [](CUresult, const char** name) {
      *name = "CUDA_ERROR_FAKE";
      return CUDA_SUCCESS;
    };
    api.error_string = [](CUresult, const char** text) {
      *text = "a fake fault";
      return CUDA_SUCCESS;
    };
    api.context_get = [](CUcontext* context) {
      *context = instance()->current;
      return CUDA_SUCCESS;
    };
    api.context_set = [](CUcontext context) {
      instance()->current = context;
      return note("context_set");
    };
    api.device_attribute = [](int* value, CUdevice_attribute, CUdevice) {
      *value = 100'000;
      return CUDA_SUCCESS;
    };
    api.stream_priorities = [](int* lowest, int* highest) {
      *lowest = 0;
      *highest = -5;
      return CUDA_SUCCESS;
    };
    api.stream_create = [](CUstream* stream, unsigned, int) {
      *stream = reinterpret_cast<CUstream>(0x5);
      return note("stream_create");
    };
    api.stream_destroy = [](CUstream) { return note("stream_destroy"); };
    api.stream_synchronize = [](CUstream) { return note("stream_synchronize"); };
    api.stream_wait = [](CUstream, CUevent, unsigned) { return note("stream_wait"); };
    add_events(api);
    add_work(api);
    return api;
  }

 private:
  static Event& event_of(CUevent handle) { return *reinterpret_cast<Event*>(handle); }

  static void add_events(Api& api) {
    api.event_create = [](CUevent* event, unsigned) {
      instance()->events.push_back(std::make_unique<Event>());
      *event = reinterpret_cast<CUevent>(instance()->events.back().get());
      return note("event_create");
    };
    api.event_destroy = [](CUevent) {
      ++instance()->events_destroyed;
      return CUDA_SUCCESS;
    };
    api.event_record = [](CUevent event, CUstream) {
      event_of(event) = {instance()->timer_ns / 32 * 32, true};
      return note("event_record");
    };
    api.event_query = [](CUevent) {
      if (instance()->failure != CUDA_SUCCESS) return instance()->failure;
      return instance()->busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    };
    api.event_synchronize = [](CUevent) { return instance()->failure; };
    api.event_elapsed = [](float* milliseconds, CUevent from, CUevent to) {
      const auto difference = static_cast<int64_t>(event_of(to).time - event_of(from).time);
      *milliseconds = static_cast<float>(static_cast<double>(difference) / 1e6);
      return instance()->failure;
    };
  }

  static void add_work(Api& api) {
    api.launch = [](CUfunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                    unsigned shared, CUstream, void** parameters, void**) {
      instance()->launches.push_back({{gx, gy, gz},
                                      {bx, by, bz},
                                      shared,
                                      std::vector<void*>(parameters, parameters + instance()->parameter_count)});
      return note("launch");
    };
    api.fill_8 = [](CUdeviceptr, unsigned char, size_t, CUstream) { return note("fill_8"); };
    api.fill_16 = [](CUdeviceptr, unsigned short, size_t, CUstream) { return note("fill_16"); };
    api.fill_32 = [](CUdeviceptr, unsigned, size_t, CUstream) { return note("fill_32"); };
    api.copy_to_device = [](CUdeviceptr, const void*, size_t, CUstream) { return note("copy_to_device"); };
    api.copy_to_host = [](void* to, CUdeviceptr from, size_t bytes, CUstream) {
      if (instance()->memory_is_real) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
      return note("copy_to_host");
    };
    api.memory_allocate = [](CUdeviceptr* address, size_t bytes) {
      *address = reinterpret_cast<CUdeviceptr>(std::calloc(bytes, 1));
      return note("memory_allocate");
    };
    api.memory_free = [](CUdeviceptr address) {
      std::free(reinterpret_cast<void*>(address));
      return note("memory_free");
    };
    api.host_allocate = [](void** memory, size_t bytes, unsigned) {
      *memory = std::calloc(bytes, 1);
      return note("host_allocate");
    };
    api.host_free = [](void* memory) {
      std::free(memory);
      return note("host_free");
    };
    api.pointer_attribute = [](void*, CUpointer_attribute, CUdeviceptr) { return CUDA_ERROR_INVALID_VALUE; };
    api.module_load = [](CUmodule* module, const void*) {
      *module = reinterpret_cast<CUmodule>(0x7);
      return instance()->module_result;
    };
    api.module_unload = [](CUmodule) { return note("module_unload"); };
    api.module_function = [](CUfunction* function, CUmodule, const char* name) {
      *function = reinterpret_cast<CUfunction>(0x9);
      return std::strcmp(name, "absent") == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
    };
    api.function_attribute = [](int* value, CUfunction_attribute, CUfunction) {
      *value = 512;
      return CUDA_SUCCESS;
    };
    api.function_set = [](CUfunction, CUfunction_attribute, int) { return note("function_set"); };
  }
};

}  // namespace kymo::device::cuda
