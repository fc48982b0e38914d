// The inputs of an operation, read as texts and counted as each of the operators whose shapes matter.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "edge/flops.h"
#include "edge/inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::edge;
  static constexpr std::string_view kNames[] = {"conv2d",
                                                "convolution",
                                                "conv_transpose2d",
                                                "convolution_backward",
                                                "matmul",
                                                "addmm",
                                                "linear",
                                                "outer",
                                                "scaled_dot_product_attention",
                                                "_native_multi_head_attention",
                                                "multi_head_attention_forward",
                                                "add",
                                                "softmax",
                                                "layer_norm",
                                                "batch_norm"};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const size_t count = decode_inputs(bytes).size();
  const size_t shapes = input_texts(bytes).sizes.size();
  if (count > size || shapes < 2) __builtin_trap();
  for (const std::string_view name : kNames) count_flops(name, bytes);
  return 0;
}
