#include "device/cuda/stamp_driver.h"

namespace kymo::device::cuda {

CudaStampDriver::~CudaStampDriver() {
  while_current(context_, [this] {
    const Api& api = context_.api;
    if (reader_ != nullptr) {
      api.stream_synchronize(reader_);
      api.stream_destroy(reader_);
    }
    if (event_ != nullptr) api.event_destroy(event_);
    for (const StampBlock& block : blocks_) {
      if (block.device != 0) api.memory_free(block.device);
      if (block.host != nullptr) api.host_free(block.host);
    }
  });
}

bool CudaStampDriver::open() {
  const Api& api = context_.api;
  if (event_ == nullptr && api.event_create(&event_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
  return reader_ != nullptr || api.stream_create(&reader_, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS;
}

std::optional<int64_t> CudaStampDriver::timer_offset() { return open() ? timer_.get() : std::nullopt; }

std::optional<StampBlock> CudaStampDriver::allocate(size_t bytes) {
  const Api& api = context_.api;
  StampBlock& block = blocks_.emplace_back();
  CUdeviceptr device = 0;
  if (api.memory_allocate(&device, bytes) != CUDA_SUCCESS) return std::nullopt;
  block.device = device;
  if (api.fill_8(block.device, 0, bytes, stream_) != CUDA_SUCCESS) return std::nullopt;
  void* host = nullptr;
  if (api.host_allocate(&host, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) return std::nullopt;
  block.host = static_cast<std::byte*>(host);
  return block;
}

void CudaStampDriver::fence() { check(context_.api, context_.api.event_record(event_, stream_), "cuEventRecord"); }

void CudaStampDriver::copy(const StampBlock& block, size_t offset, size_t bytes) {
  check(context_.api, context_.api.copy_to_host(block.host + offset, block.device + offset, bytes, reader_),
        "cuMemcpyDtoHAsync");
}

void CudaStampDriver::end_copies() { check(context_.api, context_.api.event_record(event_, reader_), "cuEventRecord"); }

StampProgress CudaStampDriver::look() {
  const CUresult result = context_.api.event_query(event_);
  if (result == CUDA_ERROR_NOT_READY) return StampProgress::Pending;
  return result == CUDA_SUCCESS ? StampProgress::Reached : StampProgress::Failed;
}

void CudaStampDriver::wait() { check(context_.api, context_.api.stream_synchronize(reader_), "cuStreamSynchronize"); }

}  // namespace kymo::device::cuda
