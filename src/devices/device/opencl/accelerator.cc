#include "device/opencl/accelerator.h"

#include "base/text.h"
#include "device/opencl/marker.h"
#include "device/opencl/program.h"
#include "device/opencl/queue.h"
#include "kymo/error.h"

namespace kymo::device::opencl {

OpenClAccelerator::OpenClAccelerator(std::shared_ptr<const Api> api, FoundDevice device)
    : context_(std::move(api), std::move(device)), memory_(context_), clock_(context_), timer_(context_) {}

std::unique_ptr<Queue> OpenClAccelerator::make_queue() { return std::make_unique<OpenClQueue>(context_, timer_); }

std::unique_ptr<Marker> OpenClAccelerator::make_marker(bool timing) {
  return std::make_unique<OpenClMarker>(context_, timing);
}

std::unique_ptr<Program> OpenClAccelerator::compile(const Source& source) {
  if (source.language != Language::OpenClC)
    throw NotAvailable(base::format(
        "{} is not available on {}: its OpenCL driver compiles OpenCL C; write the kernel in OpenCL C or Metal",
        language_name(source.language), info().name));
  return OpenClProgram::compile(context_, source);
}

std::unique_ptr<Program> OpenClAccelerator::load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) {
  return OpenClProgram::load(context_, binary, std::move(kernels));
}

void OpenClAccelerator::reset() {
  clock_.forget();
  timer_.forget();
  memory_.forget();
  context_.host_memory.forget();
  context_.renew();
}

}  // namespace kymo::device::opencl
