// A capture that is the same every time and needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/writer.h"

namespace kymo::capture::tests {

inline TensorRef tensor_ref(uint32_t buffer, std::vector<int64_t> sizes, DType dtype = DType::F32) {
  TensorRef tensor;
  tensor.buffer = buffer;
  tensor.dtype = dtype;
  tensor.dimensions = static_cast<uint8_t>(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = stride;
    stride *= sizes[i];
  }
  return tensor;
}

inline ArgumentValue tensor_argument(const TensorRef& tensor) {
  ArgumentValue argument;
  argument.kind = device::KernelArgument::Kind::Tensor;
  argument.tensors = {tensor};
  return argument;
}

// One record of every kind, with fixed times. `device` is the device that the capture names.
inline void write_small_capture(const std::string& folder, const std::string& device = "opencl:0") {
  constexpr uint64_t kStarted = 1'700'000'000'000'000'000;
  Writer writer(folder);
  writer.add(DeviceRecord{device, "a device", "its driver 1.0"});
  LibraryRecord library;
  library.shader = writer.add_shader(device::Language::Metal,
                                     "kernel void twice(device float* x, constant float& by, uint i "
                                     "[[thread_position_in_grid]]) { x[i] *= 2 * by; }\n");
  library.options.options = {"-DWIDTH=4"};
  library.options.constants = {{"0", 1.5}};
  library.options.headers = {{"more.h", "// nothing\n"}};
  writer.add(library);
  writer.add(KernelRecord{0, "twice"});
  writer.add(BufferRecord{0, 16});
  ContentsRecord contents{0, {}};
  const std::vector<float> before = {1, 2, 3, 4}, after = {2, 4, 6, 8}, sevens = {7, 7, 7, 7};
  writer.store(std::as_bytes(std::span(before)), contents.pieces);
  writer.add(contents);
  LaunchCall launch;
  launch.threads = {4, 1, 1};
  launch.group = {4, 1, 1};
  ArgumentValue by;
  by.kind = device::KernelArgument::Kind::Float;
  by.bits = 0x3ff0000000000000;  // 1.0
  launch.arguments = {tensor_argument(tensor_ref(0, {4})), by};
  writer.add(launch);
  writer.add(BufferRecord{0, 16});
  writer.add(FillCall{0, tensor_ref(1, {2, 2}), 7});
  writer.add(BufferRecord{0, 16});
  UploadCall upload{0, tensor_ref(2, {4}), {}};
  writer.store(std::as_bytes(std::span(before)), upload.pieces);
  writer.add(upload);
  writer.add(OperationRecord{"swap", 64});
  writer.add(CopyCall{1, tensor_ref(1, {4}), tensor_ref(2, {4}), 1});
  writer.add(DownloadCall{0, tensor_ref(0, {4})});
  ResultRecord first{0, true, {}}, second{1, false, {}}, third{2, false, {}};
  writer.store(std::as_bytes(std::span(after)), first.pieces);
  writer.store(std::as_bytes(std::span(sevens)), second.pieces);
  writer.store(std::as_bytes(std::span(sevens)), third.pieces);
  writer.add(first);
  writer.add(second);
  writer.add(third);
  Manifest manifest;
  manifest.name = "small";
  manifest.started_ns = kStarted;
  manifest.stopped_ns = kStarted + 2'000'000;
  writer.finish(manifest, std::vector<uint64_t>{5000, 1000, 2000, 3000, 0});
}

}  // namespace kymo::capture::tests
