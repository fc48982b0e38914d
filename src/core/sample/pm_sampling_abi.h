// What Kymo uses of cupti_pmsampling.h and cupti_profiler_host.h, declared here, because most machines have no CUDA
// toolkit when Kymo is built. pm_sampling_test.cc compares it with NVIDIA's headers where those are installed.
//
// Each structure begins with the size of what the caller knows of it, up to the end of its last member.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::sample::cupti {

struct Head {
  size_t size;
  void* reserved;
};

struct ChipName : Head {
  size_t device;
  const char* name;
};
struct Availability : Head {
  size_t device, bytes;
  uint8_t* image;
};

// The host's side: names of counters, and the values of samples.
struct HostInitialize : Head {
  uint32_t kind;  // 1: PM sampling
  const char* chip;
  const uint8_t* availability;
  void* host;
};
struct HostDeinitialize : Head {
  void* host;
};
struct AddMetrics : Head {
  void* host;
  const char** names;
  size_t count;
};
struct ConfigSize : Head {
  void* host;
  size_t bytes;
};
struct Config : Head {
  void* host;
  size_t bytes;
  uint8_t* image;
};
struct Passes : Head {
  size_t bytes;
  const uint8_t* image;
  size_t passes;
};
struct Evaluate : Head {
  void* host;
  const uint8_t* image;
  size_t bytes, sample;
  const char** names;
  size_t count;
  double* values;
};
struct Properties : Head {
  void* host;
  const char *name, *description, *hardware, *unit;
  uint32_t kind;
};

// The device's side.
struct Enable : Head {
  size_t device;
  void* object;
};
struct OfObject : Head {  // Start, Stop, Disable
  void* object;
};
struct SetConfig : Head {
  void* object;
  size_t bytes;
  const uint8_t* config;
  size_t buffer_bytes;
  uint64_t interval;
  uint32_t trigger;  // 0: cycles of the system's clock, 1: nanoseconds
  uint32_t append;   // 0: keep the oldest, 1: keep the latest
};
struct DataSize : Head {
  void* object;
  const char** names;
  size_t count;
  uint32_t most_samples;
  size_t bytes;
};
struct DataInitialize : Head {
  void* object;
  size_t bytes;
  uint8_t* image;
};
struct Decode : Head {
  void* object;
  uint8_t* image;
  size_t bytes;
  uint32_t stop_reason;
  uint8_t overflow;
};
struct DataInfo : Head {
  const uint8_t* image;
  size_t bytes, total, populated, completed;
};
struct SampleInfo : Head {
  void* object;
  const uint8_t* image;
  size_t bytes, sample;
  uint64_t begin, end;
};

}  // namespace kymo::sample::cupti
