// kymo/random.h: the fills, on the device of the tensor.

#include "base/text.h"
#include "device/builtin.h"
#include "device/device_state.h"
#include "device/random/fill.h"
#include "device/work_capture.h"
#include "kymo/random.h"
#include "kymo/shader.h"

namespace kymo::device {
namespace {

void run(const random::Fill& fill, Tensor& out, Builtin kernels, RandomFill asked) {
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

  const Kernel kernel = device.builtins().get(kernels)[random::name_of(fill.kernel)];
  const random::LaunchShape shape = random::launch_shape(fill, count, device.info().compute_units,
                                                         static_cast<uint32_t>(kernel.max_threads_per_threadgroup()));
  const random::Arguments arguments = random::arguments_of(fill, out.address(), count, at);
  kernel.threads(shape.threads)
      .group(shape.group)(out, arguments.count, arguments.seed, arguments.offset, arguments.x, arguments.y,
                          arguments.z);
}

}  // namespace

void uniform(Tensor& out, double from, double to) {
  run(random::uniform_fill(out.dtype(), from, to), out, Builtin::Uniform, {RandomFill::Kind::Uniform, from, to});
}

void normal(Tensor& out, double mean, double deviation) {
  run(random::normal_fill(out.dtype(), mean, deviation), out, Builtin::Normal,
      {RandomFill::Kind::Normal, mean, deviation});
}

void randint(Tensor& out, int64_t low, int64_t high) {
  run(random::integer_fill(out.dtype(), low, high), out, Builtin::RandInt,
      {RandomFill::Kind::Integers, 0, 0, low, high});
}

void bernoulli(Tensor& out, double probability) {
  run(random::bernoulli_fill(out.dtype(), probability), out, Builtin::Bernoulli,
      {RandomFill::Kind::Bernoulli, probability});
}

}  // namespace kymo::device
