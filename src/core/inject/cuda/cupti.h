// The functions of libcupti that Kymo uses. The library is the one that the program has loaded, or that its CUDA driver
// belongs to. It is never linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "inject/cuda/abi.h"

namespace kymo::inject::cuda {

struct Cupti {
  using Subscriber = void*;
  using OnCall = void (*)(void* user, int domain, uint32_t call, const void* data);
  using Requested = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
  using Completed = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

  Result (*version)(uint32_t* version);
  Result (*subscribe)(Subscriber* subscriber, OnCall callback, void* user);
  Result (*enable_callback)(uint32_t enable, Subscriber subscriber, int domain, uint32_t call);
  Result (*enable)(Kind kind);
  Result (*disable)(Kind kind);
  Result (*register_buffers)(Requested requested, Completed completed);
  Result (*next_record)(uint8_t* buffer, size_t valid, void** record);
  Result (*flush)(uint32_t forced);
  Result (*dropped)(void* context, uint32_t stream, size_t* count);
  Result (*timestamp)(uint64_t* now);
  Result (*finalize)();
  Result (*device_of)(void* context, uint32_t* device);
  Result (*stream_of)(void* context, void* stream, uint8_t per_thread, uint32_t* id);

  // Newer versions have these. Null: they are missing.
  Result (*subscribe_named)(Subscriber* subscriber, OnCall callback, void* user, SubscriberParameters* parameters);
  Result (*register_clock)(uint64_t (*clock)());
  Result (*call_name)(int domain, uint32_t call, const char** name);
};

// Null if there is none, or it lacks a function that is needed: then `why` says so. The library stays loaded. The
// variable KYMO_CUPTI names another one.
const Cupti* load_cupti(std::string& why);

}  // namespace kymo::inject::cuda
