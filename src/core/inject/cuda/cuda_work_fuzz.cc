// Records of CUPTI with any bytes. Kernel names are pointers: the fuzzer replaces them by a text.
#include <cstring>
#include <vector>

#include "inject/cuda/queues.h"

using namespace kymo::inject::cuda;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> record(data, data + size);
  Kind kind{};
  if (size >= sizeof kind) memcpy(&kind, data, sizeof kind);
  if (kind == Kind::Kernel && size >= sizeof(Kernel)) {
    const char* const name = "kernel";
    memcpy(record.data() + offsetof(Kernel, name), &name, sizeof name);
  }
  if (const auto work = work_from(record.data(), record.size()))
    if (work->has_times() && work->end < work->start) __builtin_trap();
  return 0;
}
