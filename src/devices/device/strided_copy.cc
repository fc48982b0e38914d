#include "device/strided_copy.h"

#include <array>
#include <limits>

#include "base/text.h"
#include "device/builtin.h"
#include "device/device_state.h"
#include "device/work_capture.h"
#include "kymo/shader.h"

namespace kymo::device {
namespace {

// The sizes and strides for the kernel: 32 bits each, outermost dimension first, padded with 1 at the front.
struct Layout {
  std::array<uint32_t, kMaxDimensions> sizes, from, to;
};

bool narrow(const Tensor& tensor, std::array<uint32_t, kMaxDimensions>& strides) {
  const auto wide = tensor.strides();
  const size_t padding = strides.size() - wide.size();
  strides.fill(0);
  uint64_t farthest = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    farthest += static_cast<uint64_t>(wide[i]) * static_cast<uint64_t>(tensor.shape()[static_cast<int>(i)] - 1);
    strides[padding + i] = static_cast<uint32_t>(wide[i]);
  }
  return farthest <= std::numeric_limits<uint32_t>::max();
}

}  // namespace

void strided_copy(const Tensor& from, const Tensor& to) {
  // Splits along the first dimension until 32 bits are enough for each part.
  Layout layout;
  if (!narrow(from, layout.from) || !narrow(to, layout.to)) {
    int longest = 0;
    for (int i = 1; i < from.shape().dimensions(); ++i)
      if (from.shape()[i] > from.shape()[longest]) longest = i;
    const int64_t size = from.shape()[longest], half = size / 2;
    if (size < 2)
      throw InvalidArgument(base::format("a tensor of shape {} cannot be copied: its strides are too large for 32 bits",
                                         from.shape().text()));
    strided_copy(from.slice(longest, 0, half), to.slice(longest, 0, half));
    strided_copy(from.slice(longest, half, size), to.slice(longest, half, size));
    return;
  }
  layout.sizes.fill(1);
  const auto sizes = from.shape().sizes();
  for (size_t i = 0; i < sizes.size(); ++i)
    layout.sizes[layout.sizes.size() - sizes.size() + i] = static_cast<uint32_t>(sizes[i]);

  if (WorkCapture* capture = work_capture()) capture->copy(from, to);
  const ShaderLibrary library = from.device().state().builtins().get(Builtin::StridedCopy);
  library[base::format("strided_copy_{}", size_of(from.dtype()))].threads(static_cast<uint64_t>(from.elements()))(
      from, to, layout.sizes, layout.from, layout.to);
}

}  // namespace kymo::device
