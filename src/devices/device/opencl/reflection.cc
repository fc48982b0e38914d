#include "device/opencl/reflection.h"

#include <algorithm>

#include "device/opencl/error.h"
#include "device/opencl/type_probe.h"
#include "device/opencl/types.h"

namespace kymo::device::opencl {
namespace {

using Kernel = Handle<cl_kernel>;

// A value whose type the API does not explain.
struct Question {
  size_t kernel, parameter;
  std::string type;
};

std::string argument_text(const Api& cl, cl_kernel kernel, cl_uint index, cl_kernel_arg_info what) {
  size_t size = 0;
  if (cl.clGetKernelArgInfo(kernel, index, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (cl.clGetKernelArgInfo(kernel, index, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string name_of_kernel(const Api& cl, cl_kernel kernel) {
  size_t size = 0;
  check(cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size), "clGetKernelInfo");
  std::string name(size, '\0');
  check(cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr), "clGetKernelInfo");
  while (!name.empty() && name.back() == '\0') name.pop_back();
  return name;
}

template <class T>
T of_group(const Context& context, cl_kernel kernel, cl_kernel_work_group_info what) {
  T value{};
  context.cl.clGetKernelWorkGroupInfo(kernel, context.device.id, what, sizeof value, &value, nullptr);
  return value;
}

KernelInfo describe(const Context& context, cl_kernel kernel, size_t index, std::vector<Question>& questions) {
  const Api& cl = context.cl;
  KernelInfo info;
  info.name = name_of_kernel(cl, kernel);
  info.max_threads_per_group = of_group<size_t>(context, kernel, CL_KERNEL_WORK_GROUP_SIZE);
  info.execution_width =
      static_cast<uint32_t>(of_group<size_t>(context, kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE));
  const cl_ulong group_memory = of_group<cl_ulong>(context, kernel, CL_KERNEL_LOCAL_MEM_SIZE);
  info.group_memory = group_memory == 1 ? 0 : group_memory;  // NVIDIA reports one byte too many: 1 means none
  const auto required = of_group<std::array<size_t, 3>>(context, kernel, CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  info.required_group = {required[0], required[1], required[2]};

  cl_uint count = 0;
  check(cl.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr), "clGetKernelInfo");
  for (cl_uint i = 0; i < count; ++i) {
    cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
    cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr);
    const std::string type = argument_text(cl, kernel, i, CL_KERNEL_ARG_TYPE_NAME);
    const bool is_private = space == CL_KERNEL_ARG_ADDRESS_PRIVATE;
    info.parameters.push_back(parameter_of(argument_text(cl, kernel, i, CL_KERNEL_ARG_NAME), type,
                                           space == CL_KERNEL_ARG_ADDRESS_LOCAL, is_private));
    if (info.parameters.back().kind == ParameterKind::Unknown && is_private && may_be_bytes(type))
      questions.push_back({index, i, type});
  }
  return info;
}

void answer(const Context& context, const std::string& text, const std::string& options,
            const std::vector<Question>& questions, std::vector<KernelInfo>& kernels) {
  std::vector<std::string> types;
  for (const Question& question : questions) types.push_back(question.type);
  const std::vector<ProbedType> answers = probe_types(context, text, options, types);
  for (size_t i = 0; i < answers.size(); ++i) {
    Parameter& parameter = kernels[questions[i].kernel].parameters[questions[i].parameter];
    parameter.bytes = answers[i].bytes;
    if (!answers[i].number) continue;
    parameter.kind = ParameterKind::Value;
    parameter.type = answers[i].number->type;
    parameter.count = answers[i].number->count;
  }
}

}  // namespace

std::vector<KernelInfo> reflect(const Context& context, cl_program program, const std::string& text,
                                const std::string& options) {
  const Api& cl = context.cl;
  cl_uint count = 0;
  // Source without a kernel is not an error: some drivers return this code, others return 0.
  if (cl.clCreateKernelsInProgram(program, 0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_kernel> raw(count);
  check(cl.clCreateKernelsInProgram(program, count, raw.data(), nullptr), "clCreateKernelsInProgram");
  std::vector<Kernel> owned;
  for (cl_kernel kernel : raw) owned.emplace_back(kernel, cl.clReleaseKernel);

  std::vector<KernelInfo> kernels;
  std::vector<Question> questions;
  for (size_t i = 0; i < owned.size(); ++i) kernels.push_back(describe(context, owned[i].get(), i, questions));
  if (!questions.empty()) answer(context, text, options, questions, kernels);
  std::sort(kernels.begin(), kernels.end(), [](const KernelInfo& a, const KernelInfo& b) { return a.name < b.name; });
  return kernels;
}

void limit(const Context& context, cl_program program, std::vector<KernelInfo>& kernels) {
  for (KernelInfo& info : kernels) {
    cl_int code = CL_SUCCESS;
    const Kernel kernel(context.cl.clCreateKernel(program, info.symbol_or_name().c_str(), &code),
                        context.cl.clReleaseKernel);
    check(code, "clCreateKernel");
    info.max_threads_per_group = std::min<uint64_t>(info.max_threads_per_group,
                                                    of_group<size_t>(context, kernel.get(), CL_KERNEL_WORK_GROUP_SIZE));
  }
}

}  // namespace kymo::device::opencl
