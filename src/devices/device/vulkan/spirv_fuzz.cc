// Reads any bytes as SPIR-V, reflects them, also as a block of arguments, and patches every kernel. The patched module
// must be readable again, with one kernel that accepts any group size.
#include <cstdlib>
#include <string_view>

#include "device/vulkan/spirv_exact.h"
#include "device/vulkan/spirv_patch.h"
#include "kymo/error.h"

namespace {

using namespace kymo::device::vulkan::spirv;

void patch_all(const Module& module, bool several) {
  for (const Kernel& kernel : reflect(module, several)) {
    try {
      for (const PushMember& member : block_members(module, kernel))
        if (member.offset + member.parameter.bytes > 1 << 16) std::abort();
    } catch (const kymo::CompileError&) {
      // It is not a block of arguments.
    }
    for (const uint32_t push_limit : {256u, 0u}) {
      Patched patched;
      try {
        patched = patch(module, kernel, push_limit);
      } catch (const kymo::CompileError&) {
        continue;
      }
      const Module again(patched.words);
      if (again.entry_points().size() != 1 || again.entry_points()[0].name != "main") std::abort();
      if (again.bound() <= module.bound()) std::abort();
      if (Module(hide_zeros(again)).bound() <= again.bound()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLargest = 1 << 16;
  if (size > kLargest) return 0;
  try {
    const Module module(Module::words_of({reinterpret_cast<const char*>(data), size}));
    patch_all(module, false);
    patch_all(module, true);
  } catch (const kymo::CompileError&) {
    // The input is not SPIR-V, or uses an unsupported feature. It was refused.
  }
  return 0;
}
