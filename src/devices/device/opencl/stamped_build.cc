#include "device/opencl/stamped_build.h"

#include <string_view>

#include "device/ptx/ptx.h"
#include "kymo/error.h"

namespace kymo::device::opencl {

BuiltProgram build_stamped(const Context& context, cl_program program, const std::string& options) try {
  if (!context.device.makes_ptx) return {};
  const std::vector<std::byte> binary = binary_of(context, program);
  std::string_view text(reinterpret_cast<const char*>(binary.data()), binary.size());
  text = text.substr(0, text.find('\0'));
  if (!looks_like_ptx(text)) return {};
  const PtxProgram edited = stamp_ptx(text);
  if (!edited.stamps || edited.entries.empty()) return {};
  // With the zero at its end, as the driver writes it.
  return build_binary(context, std::as_bytes(std::span(edited.text.c_str(), edited.text.size() + 1)), options);
} catch (const Error&) {
  return {};
}

}  // namespace kymo::device::opencl
