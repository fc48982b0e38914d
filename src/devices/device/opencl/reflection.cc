#include "device/opencl/reflection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "device/language.h"
#include "device/opencl/api.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

using Kernel = Handle<cl_kernel>;

std::string argument_text(const Api& cl, cl_kernel kernel, cl_uint index, cl_kernel_arg_info what) {
  return text_from([&](auto... to) { return cl.clGetKernelArgInfo(kernel, index, what, to...); });
}

std::string name_of_kernel(const Api& cl, cl_kernel kernel) {
  return text_from([&](auto... to) {
    const cl_int code = cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, to...);
    check(code, "clGetKernelInfo");
    return code;
  });
}

template <class T>
T of_group(const Context& context, cl_kernel kernel, cl_kernel_work_group_info what) {
  T value{};
  context.cl.clGetKernelWorkGroupInfo(kernel, context.device.id, what, sizeof value, &value, nullptr);
  return value;
}

KernelInfo describe(const Context& context, cl_kernel kernel) {
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
    info.parameters.push_back(parameter_of(argument_text(cl, kernel, i, CL_KERNEL_ARG_NAME), type,
                                           space == CL_KERNEL_ARG_ADDRESS_LOCAL,
                                           space == CL_KERNEL_ARG_ADDRESS_PRIVATE));
  }
  return info;
}

}  // namespace

std::vector<KernelInfo> reflect(const Context& context, cl_program program) {
  const Api& cl = context.cl;
  cl_uint count = 0;
  // Source without a kernel is not an error: some drivers return this code, others return 0.
  if (cl.clCreateKernelsInProgram(program, 0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_kernel> raw(count);
  check(cl.clCreateKernelsInProgram(program, count, raw.data(), nullptr), "clCreateKernelsInProgram");
  std::vector<Kernel> owned;
  for (cl_kernel kernel : raw) owned.emplace_back(kernel, cl.clReleaseKernel);

  std::vector<KernelInfo> kernels;
  for (const Kernel& kernel : owned) kernels.push_back(describe(context, kernel.get()));
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

namespace {

constexpr std::array<std::pair<std::string_view, DType>, 21> kScalars = {{
    {"char", DType::I8},
    {"signed char", DType::I8},
    {"uchar", DType::U8},
    {"unsigned char", DType::U8},
    {"short", DType::I16},
    {"ushort", DType::U16},
    {"unsigned short", DType::U16},
    {"int", DType::I32},
    {"signed int", DType::I32},
    {"uint", DType::U32},
    {"unsigned int", DType::U32},
    {"unsigned", DType::U32},
    {"long", DType::I64},
    {"signed long", DType::I64},
    {"ulong", DType::U64},
    {"unsigned long", DType::U64},
    {"half", DType::F16},
    {"float", DType::F32},
    {"double", DType::F64},
    {"signed short", DType::I16},
    {"bool", DType::Bool},
}};

constexpr std::string_view kQualifiers[] = {"const",    "volatile", "restrict", "__global",  "global",  "__constant",
                                            "constant", "__local",  "local",    "__private", "private", "__restrict"};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

// Some drivers write qualifiers into the name. Intel's driver writes the size after it: "const float*;8".
std::string without_qualifiers(std::string_view text) {
  text = text.substr(0, text.find(';'));
  std::string plain;
  while (!(text = trimmed(text)).empty()) {
    const size_t end = std::min(text.find_first_of(" *"), text.size());
    const std::string_view word = end == 0 ? text.substr(0, 1) : text.substr(0, end);
    text.remove_prefix(word.size());
    bool is_qualifier = false;
    for (const std::string_view qualifier : kQualifiers) is_qualifier |= word == qualifier;
    if (is_qualifier) continue;
    if (!plain.empty() && word != "*") plain += ' ';
    plain += word;
  }
  return plain;
}

}  // namespace

std::optional<NumberType> number_type(std::string_view name) {
  const std::string plain = without_qualifiers(name);
  std::string_view base = plain;
  uint32_t count = 1;
  const size_t digits = base.find_first_of("0123456789");
  if (digits != std::string_view::npos) {
    const std::string_view number = base.substr(digits);
    if (number == "2" || number == "3" || number == "4" || number == "8") {
      count = static_cast<uint32_t>(number[0] - '0');
    } else if (number == "16") {
      count = 16;
    } else {
      return std::nullopt;
    }
    base = base.substr(0, digits);
  }
  for (const auto& [scalar, type] : kScalars)
    if (base == scalar) return NumberType{type, count};
  return std::nullopt;
}

bool may_be_bytes(std::string_view type_name) {
  const std::string plain = without_qualifiers(type_name);
  for (const std::string_view opaque :
       {"image", "sampler_t", "pipe", "queue_t", "event_t", "clk_event_t", "reserve_id_t"})
    if (plain.starts_with(opaque)) return false;
  return !plain.empty();
}

Parameter parameter_of(std::string_view name, std::string_view type_name, bool is_local, bool is_private) {
  Parameter parameter;
  parameter.name = std::string(trimmed(name));
  const std::string plain = without_qualifiers(type_name);
  if (plain.ends_with('*')) {
    parameter.kind = is_local ? ParameterKind::Local : ParameterKind::Buffer;
    const auto pointee = number_type(std::string_view(plain).substr(0, plain.size() - 1));
    if (pointee) parameter.type = pointee->type;
    return parameter;
  }
  const auto number = is_private ? number_type(plain) : std::nullopt;
  if (!number) {
    parameter.kind = ParameterKind::Unknown;
    parameter.count = is_private && may_be_bytes(type_name) ? 1 : 0;
    return parameter;
  }
  parameter.kind = ParameterKind::Value;
  parameter.type = number->type;
  parameter.count = number->count;
  parameter.bytes = number->bytes();
  return parameter;
}

namespace {

template <size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words)
    if (has_word(text, word)) return true;
  return false;
}

constexpr std::array<std::string_view, 3> kLaunchSize = {"get_num_groups", "get_global_size", "get_global_linear_id"};
constexpr std::array<std::string_view, 5> kLaunchShape = {
    "get_group_id", "get_global_offset", "get_enqueued_local_size", "reqd_work_group_size", "__reqd_work_group_size__"};
constexpr std::array<std::string_view, 7> kGroups = {
    "get_local_id", "get_local_size", "get_local_linear_id", "barrier", "local", "__local", "asm"};
// Parts of names: sub_group_reduce_add, work_group_barrier, intel_sub_group_shuffle, async_work_group_copy.
constexpr std::array<std::string_view, 2> kGroupFamilies = {"sub_group", "work_group"};

std::string in_quotes(std::string_view file) {
  std::string text = "\"";
  for (const char c : file) {
    if (c == '\n' || c == '\r') continue;
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

bool asks_for_speed(std::string_view options) {
  return options.find("-cl-mad-enable") != std::string_view::npos ||
         options.find("-cl-fast-relaxed-math") != std::string_view::npos ||
         options.find("-cl-unsafe-math-optimizations") != std::string_view::npos;
}

std::string choose(const Extent& extent) {
  return base::format("(d == 0 ? {}ul : d == 1 ? {}ul : d == 2 ? {}ul : ", extent.x, extent.y, extent.z);
}

}  // namespace

Sees look_into(std::string_view source, std::string_view options) {
  Sees sees;
  const bool includes = source.find("#include") != std::string_view::npos ||
                        source.find("# include") != std::string_view::npos ||
                        options.find("-include") != std::string_view::npos;
  for (const std::string_view text : {source, options}) {
    sees.launch_size |= has_any(text, kLaunchSize);
    sees.launch_shape |= has_any(text, kLaunchShape);
    sees.groups |= has_any(text, kGroups);
    for (const std::string_view family : kGroupFamilies) sees.groups |= text.find(family) != std::string_view::npos;
  }
  sees.launch_size |= includes;
  sees.launch_shape |= sees.launch_size;
  sees.groups |= sees.launch_shape;
  return sees;
}

std::string preamble(std::string_view file, std::string_view options) {
  return base::format("{}#line 1 {}\n", asks_for_speed(options) ? "" : "#pragma OPENCL FP_CONTRACT OFF\n",
                      in_quotes(file));
}

std::string piece_preamble(std::string_view file, std::string_view options, const Extent& group, const Extent& tail) {
  // In a piece at the edge, the offset is not 0 and the launch ends where the piece ends. In any other piece, the
  // launch is longer than the piece by the tail.
  std::string text = "static size_t kymo_piece_group(uint d) { return " + choose(group) + "1ul); }\n";
  text += "static size_t kymo_piece_size(uint d) { size_t offset = get_global_offset(d), size = get_global_size(d);\n";
  text += "  return offset != 0 ? offset + size : size + " + choose(tail) + "0ul); }\n";
  text +=
      "static size_t kymo_piece_group_id(uint d) { return (get_global_id(d) - get_local_id(d)) / kymo_piece_group(d); "
      "}\n"
      "static size_t kymo_piece_num_groups(uint d) { return (kymo_piece_size(d) + kymo_piece_group(d) - 1) / "
      "kymo_piece_group(d); }\n"
      "static size_t kymo_piece_linear_id(void) {\n"
      "  return (get_global_id(2) * kymo_piece_size(1) + get_global_id(1)) * kymo_piece_size(0) + get_global_id(0); }\n"
      "#define get_group_id(d) kymo_piece_group_id(d)\n"
      "#define get_num_groups(d) kymo_piece_num_groups(d)\n"
      "#define get_global_size(d) kymo_piece_size(d)\n"
      "#define get_global_offset(d) ((size_t)((d) * 0))\n"
      "#define get_global_linear_id() kymo_piece_linear_id()\n"
      "#define get_enqueued_local_size(d) kymo_piece_group(d)\n"
      "#define reqd_work_group_size(x, y, z)\n"
      "#define __reqd_work_group_size__(x, y, z)\n";
  return text + preamble(file, options);
}

std::string all_options(std::span<const std::string> given, std::string_view newest_language, std::string own) {
  bool names_language = false;
  for (const std::string& option : given) names_language |= option.find("-cl-std") != std::string::npos;
  std::string all = std::move(own);
  if (!names_language && !newest_language.empty()) all += base::format(" -cl-std={}", newest_language);
  for (const std::string& option : given) all += " " + option;
  return all;
}

bool allows_partial_groups(std::string_view options) {
  if (options.find("-cl-uniform-work-group-size") != std::string_view::npos) return false;
  const size_t at = options.rfind("-cl-std=CL");
  if (at == std::string_view::npos) return false;
  const std::string_view version = options.substr(at + std::string_view("-cl-std=CL").size());
  return version.starts_with("2") || version.starts_with("3") || version.starts_with("C++");
}

}  // namespace kymo::device::opencl
