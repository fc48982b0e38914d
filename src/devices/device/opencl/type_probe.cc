#include "device/opencl/type_probe.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "device/opencl/build.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

// A required group size must be within the limits of devices, so a size is encoded in two digits of this base.
constexpr uint32_t kBase = 256;

bool device_has(const Context& context, std::string_view capability) {
  const auto& all = context.device.info.capabilities;
  return std::find(all.begin(), all.end(), capability) != all.end();
}

std::vector<NumberType> numbers_of(const Context& context) {
  std::vector<DType> types = {DType::I8,  DType::U8,  DType::I16, DType::U16, DType::I32,
                              DType::U32, DType::I64, DType::U64, DType::F32};
  if (device_has(context, "fp64")) types.push_back(DType::F64);
  if (device_has(context, "fp16")) types.push_back(DType::F16);
  std::vector<NumberType> numbers;
  for (const DType type : types)
    for (const uint32_t count : {1u, 2u, 3u, 4u, 8u, 16u}) numbers.push_back({type, count});
  return numbers;
}

std::string kernel_name(std::string_view what, size_t index) { return base::format("kymo_{}_of_{}", what, index); }

std::string probe_kernel(std::string_view what, size_t index, const std::string& value) {
  // It has a parameter because NVIDIA's compiler fails at kernels without one (source_text.h).
  return base::format("__attribute__((reqd_work_group_size(({}) + 1, 1, 1))) kernel void {}(global int* x) {{}}\n",
                      value, kernel_name(what, index));
}

// The answer of a probe kernel; empty if it does not exist.
std::optional<uint32_t> stated(const Context& context, cl_program program, const std::string& name) {
  cl_int code = CL_SUCCESS;
  const Handle<cl_kernel> kernel(context.cl.clCreateKernel(program, name.c_str(), &code), context.cl.clReleaseKernel);
  if (code != CL_SUCCESS) return std::nullopt;
  std::array<size_t, 3> group{};
  code = context.cl.clGetKernelWorkGroupInfo(kernel.get(), context.device.id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                             sizeof group, group.data(), nullptr);
  if (code != CL_SUCCESS || group[0] == 0) return std::nullopt;
  return static_cast<uint32_t>(group[0] - 1);
}

BuiltProgram try_build(const Context& context, const std::string& text, const std::string& options) {
  try {
    return build(context, text, options, "probe");
  } catch (const Error&) {
    return {};
  }
}

// Nothing: it does not compile with these names.
std::optional<std::vector<ProbedType>> ask(const Context& context, const std::string& text, const std::string& options,
                                           std::span<const std::string> types) {
  const std::vector<NumberType> numbers = numbers_of(context);
  BuiltProgram program = try_build(context, text + probe_kernels(types, numbers), options);
  if (!program) program = try_build(context, text + probe_kernels(types, {}), options);
  if (!program) return std::nullopt;
  std::vector<ProbedType> answers(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const auto low = stated(context, program.get(), kernel_name("low", i));
    const auto high = stated(context, program.get(), kernel_name("high", i));
    if (!low || !high) continue;
    answers[i].bytes = *high * kBase + *low;
    const auto number = stated(context, program.get(), kernel_name("number", i));
    if (number && *number > 0 && *number <= numbers.size()) answers[i].number = numbers[*number - 1];
  }
  return answers;
}

}  // namespace

std::string probe_kernels(std::span<const std::string> types, std::span<const NumberType> numbers) {
  std::string text = "\n";
  for (size_t i = 0; i < types.size(); ++i) {
    text += probe_kernel("low", i, base::format("sizeof({}) % {}", types[i], kBase));
    text += probe_kernel("high", i, base::format("sizeof({}) / {}", types[i], kBase));
    if (numbers.empty()) continue;
    std::string which = "0";
    for (size_t n = 0; n < numbers.size(); ++n)
      which += base::format(" + {} * __builtin_types_compatible_p({}, {})", n + 1, types[i], name_of(numbers[n]));
    text += probe_kernel("number", i, which);
  }
  return text;
}

std::vector<ProbedType> probe_types(const Context& context, const std::string& text, const std::string& options,
                                    std::span<const std::string> types) {
  if (auto answers = ask(context, text, options, types)) return *answers;
  // A name that is not valid alone (NVIDIA leaves out the word "struct") must not affect the others.
  std::vector<ProbedType> answers;
  for (const std::string& type : types) {
    auto answer = ask(context, text, options, std::array{type});
    if (!answer) answer = ask(context, text, options, std::array{"struct " + type});
    answers.push_back(answer ? answer->front() : ProbedType{});
  }
  return answers;
}

}  // namespace kymo::device::opencl
