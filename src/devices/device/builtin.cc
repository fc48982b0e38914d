#include "device/builtin.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/text.h"
#include "device/device_state.h"
#include "device/embedded.h"
#include "device/language.h"
#include "device/random/fill.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "device/work_capture.h"
#include "kymo/random.h"

namespace kymo::device {
namespace {

// The text of a kernel, with other kernels that are not compiled with it.
std::string_view source_of(std::string_view name) {
  if (name.starts_with("strided_copy")) return embedded::strided_copy_metal;
  static const std::string random = base::format("#include <metal_stdlib>\nusing namespace metal;\n{}{}",
                                                 embedded::random_core_metal, embedded::random_metal);
  return random;
}

constexpr uint32_t kNormalTable[257][4] = {
#include "device/random/normal_table.inc"
};

}  // namespace

Kernel BuiltinKernels::get(std::string_view name) {
  std::lock_guard lock(mutex_);
  auto found = libraries_.find(name);
  if (found == libraries_.end()) {
    if (!native_language(device_.info())) {
      throw NotAvailable(device_.name() +
                         " has no compiler for the runtime's own kernels here: `kymo devices` says what is missing");
    }
    auto library = device_.libraries().get(source_of(name), {{}, "kymo"}, LibraryCache::Owner::Runtime, name);
    found = libraries_.emplace(name, std::move(library)).first;
  }
  return ShaderLibrary(found->second)[name];
}

Tensor BuiltinKernels::normal_table() {
  std::lock_guard lock(mutex_);
  if (!normal_table_.is_defined()) {
    const CaptureScope own;  // a replay has its own table
    // Not from the allocator, whose figures are those of the program's tensors. A reset destroys it.
    const Address address = device_.allocate(sizeof kNormalTable);
    if (address == 0)
      throw OutOfMemory("the device has no memory left for the table of normal numbers", sizeof kNormalTable, 0, 0);
    Tensor table(std::make_shared<Storage>(device_, address, sizeof kNormalTable, false, nullptr), DType::U32,
                 {std::size(kNormalTable), 4}, {4, 1}, 0);
    table.copy_from_bytes(std::as_bytes(std::span(kNormalTable)));
    device_.current_stream().wait();  // all streams read it
    normal_table_ = std::move(table);
  }
  return normal_table_;
}

void BuiltinKernels::forget() {
  std::lock_guard lock(mutex_);
  libraries_.clear();
  normal_table_ = {};
}

namespace {

// The layout for the kernel: sizes, strides of `from`, strides of `to`. 32 bits each, outermost dimension first, padded
// at the front.
using Layout = std::array<uint32_t, 3 * kMaxDimensions>;

// False: 32 bits are not enough for the strides.
bool narrow(const Tensor& tensor, std::span<uint32_t> strides) {
  const auto wide = tensor.strides();
  const size_t padding = strides.size() - wide.size();
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
  Layout layout{};
  const auto part = [&](size_t index) { return std::span(layout).subspan(index * kMaxDimensions, kMaxDimensions); };
  if (!narrow(from, part(1)) || !narrow(to, part(2))) {
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
  const auto sizes = from.shape().sizes();
  std::ranges::fill(part(0), 1);
  for (size_t i = 0; i < sizes.size(); ++i) layout[kMaxDimensions - sizes.size() + i] = static_cast<uint32_t>(sizes[i]);

  if (WorkCapture* capture = work_capture()) capture->copy(from, to);
  const Kernel kernel = from.device().state().builtins().get(base::format("strided_copy_{}", size_of(from.dtype())));
  kernel.threads(static_cast<uint64_t>(from.elements()))(from, to, layout);
}

// ---- kymo/random.h: the fills, on the device of the tensor ---------------------------------------------------------

namespace {

void run(const random::Fill& fill, Tensor& out, RandomFill asked) {
  DeviceState& device = out.device().state();
  if (!out.is_contiguous()) {
    throw InvalidArgument(
        base::format("a tensor of shape {} that is not contiguous cannot be filled with random numbers: "
                     "fill a contiguous one and copy it",
                     out.shape().text()));
  }
  const auto count = static_cast<uint64_t>(out.elements());
  const random::Reservation at = device.generator().reserve(fill.blocks(count));
  if (count == 0) return;
  if (WorkCapture* capture = work_capture()) {
    asked.seed = at.seed;
    asked.offset = at.offset;
    capture->fill_random(out, asked);
  }

  const Kernel kernel = device.builtins().get(random::name_of(fill.kernel));
  const random::LaunchShape shape = random::launch_shape(fill, count, device.info().compute_units,
                                                         static_cast<uint32_t>(kernel.max_threads_per_threadgroup()));
  const Kernel sized = kernel.threads(shape.threads).group(shape.group);
  if (asked.kind == RandomFill::Kind::Normal)
    sized(out, count, at.seed, at.offset, fill.x, fill.y, fill.z, device.builtins().normal_table());
  else
    sized(out, count, at.seed, at.offset, fill.x, fill.y, fill.z);
}

}  // namespace

void uniform(Tensor& out, double from, double to) {
  run(random::uniform_fill(out.dtype(), from, to), out, {RandomFill::Kind::Uniform, from, to});
}

void normal(Tensor& out, double mean, double deviation) {
  run(random::normal_fill(out.dtype(), mean, deviation), out, {RandomFill::Kind::Normal, mean, deviation});
}

void randint(Tensor& out, int64_t low, int64_t high) {
  run(random::integer_fill(out.dtype(), low, high), out, {RandomFill::Kind::Integers, 0, 0, low, high});
}

void bernoulli(Tensor& out, double probability) {
  run(random::bernoulli_fill(out.dtype(), probability), out, {RandomFill::Kind::Bernoulli, probability});
}

}  // namespace kymo::device
