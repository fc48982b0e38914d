#include "device/cuda/program.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/text.h"
#include "device/cuda/nvrtc.h"

namespace kymo::device::cuda {
namespace {

constexpr uint64_t kMagic = 0x333055434F4D594B;  // "KYMOCU03"

}  // namespace

std::vector<std::byte> pack_binary(std::span<const std::string> names, bool stamps, std::span<const std::byte> cubin) {
  base::ByteWriter writer;
  writer.fixed(kMagic);
  writer.byte(stamps ? 1 : 0);
  writer.varint(names.size());
  for (const std::string& name : names) writer.string(name);
  writer.varint(cubin.size());
  writer.append(cubin);
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::optional<UnpackedBinary> unpack_binary(std::span<const std::byte> untrusted) try {
  base::ByteReader reader(untrusted);
  if (reader.fixed<uint64_t>() != kMagic) return {};
  UnpackedBinary unpacked;
  unpacked.stamps = reader.byte() != 0;
  for (size_t left = reader.count(); left > 0; --left) unpacked.names.emplace_back(reader.string());
  unpacked.cubin = reader.take(reader.count());
  if (unpacked.cubin.empty()) return {};
  return unpacked;
} catch (const Error&) {
  return {};
}

namespace {

constexpr size_t kLogBytes = size_t{64} << 10;

uint32_t attribute(const Context& context, CUfunction function, CUfunction_attribute which) {
  int value = 0;
  check(context.api, context.api.function_attribute(&value, which, function), "cuFuncGetAttribute");
  return static_cast<uint32_t>(value);
}

int device_attribute(const Context& context, CUdevice_attribute which) {
  int value = 0;
  check(context.api, context.api.device_attribute(&value, which, context.device), "cuDeviceGetAttribute");
  return value;
}

// The parameters that are group memory.
constexpr uint32_t kSpareGroupBytes = 16;  // the widest number
constexpr uint64_t kMaxUnaskedGroupBytes = 48 << 10;

std::vector<uint32_t> locals_of(const KernelInfo& kernel) {
  std::vector<uint32_t> locals;
  for (uint32_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].kind == ParameterKind::Local) locals.push_back(i);
  return locals;
}

[[noreturn]] void throw_assembly_error(const Context& context, CUresult result, const std::string& log,
                                       std::string_view file) {
  constexpr int kNoAssembler = 221, kTooNew = 222;  // JIT_COMPILER_NOT_FOUND, UNSUPPORTED_PTX_VERSION
  if (result == kNoAssembler)
    throw NotAvailable(base::format("CUDA: the driver's assembler is missing ({}); install libnvidia-ptxjitcompiler1",
                                    error_name(context.api, result)));
  if (result == kTooNew)
    throw NotAvailable(base::format(
        "CUDA: this driver (for CUDA {}.{}) is older than the compiler's PTX ({}); install a newer driver, or install "
        "the NVRTC of the driver's version and set KYMO_NVRTC_LIBRARY to it",
        context.api.version / 1000, context.api.version % 1000 / 10, error_name(context.api, result)));
  if (is_fault(result) || log.find_first_not_of(" \n") == std::string::npos)
    throw_error(context.api, result, "cuLinkComplete");
  throw compile_error(log, file);
}

}  // namespace

std::vector<std::byte> assemble(const Context& context, std::string_view ptx, std::string_view file) {
  const Api& api = context.api;
  std::string log(kLogBytes, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes - 1)};
  CUlinkState state = nullptr;
  CUresult result = api.link_create(2, options, values, &state);
  if (result != CUDA_SUCCESS) throw_assembly_error(context, result, {}, file);
  const auto destroy = [&api](CUlinkState s) { api.link_destroy(s); };
  const std::unique_ptr<std::remove_pointer_t<CUlinkState>, decltype(destroy)> guard(state, destroy);
  std::string text(ptx);  // the driver wants the terminating zero
  void* cubin = nullptr;
  size_t size = 0;
  result = api.link_add(state, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, std::string(file).c_str(), 0, nullptr,
                        nullptr);
  if (result == CUDA_SUCCESS) result = api.link_complete(state, &cubin, &size);
  if (result != CUDA_SUCCESS) throw_assembly_error(context, result, log.c_str(), file);
  const auto* bytes = static_cast<const std::byte*>(cubin);
  return {bytes, bytes + size};
}

std::unique_ptr<CudaProgram> CudaProgram::load(const Context& context, std::vector<std::string> names, bool stamps,
                                               std::vector<std::byte> cubin, std::vector<KernelInfo> kernels,
                                               bool measure) {
  if (names.size() != kernels.size()) return nullptr;
  std::unique_ptr<CudaProgram> program(new CudaProgram(context));
  const CUresult result = context.api.module_load(&program->module_, cubin.data());
  if (is_fault(result) || result == CUDA_ERROR_OUT_OF_MEMORY) throw_error(context.api, result, "cuModuleLoadData");
  if (result != CUDA_SUCCESS) return nullptr;
  program->names_ = std::move(names);
  program->stamps_ = stamps;
  program->cubin_ = std::move(cubin);
  program->kernels_ = std::move(kernels);
  return program->find_functions(measure) ? std::move(program) : nullptr;
}

bool CudaProgram::find_functions(bool measure) {
  const Api& api = context_.api;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    KernelInfo& info = kernels_[i];
    Kernel kernel;
    const CUresult result = api.module_function(&kernel.function, module_, names_[i].c_str());
    if (result == CUDA_ERROR_NOT_FOUND) return false;
    check(api, result, "cuModuleGetFunction");
    std::vector<uint32_t> locals = locals_of(info);
    const bool has_local = !locals.empty();
    kernel.parameters = static_cast<uint32_t>(info.parameters.size());
    if (info.is_translated)
      kernel.locals = std::move(locals);
    else if (has_local)
      --kernel.parameters;
    kernel.takes_grid = info.takes_grid;
    kernel.uses_simdgroups = info.uses_simdgroups;
    const auto group_memory = [&] { return attribute(context_, kernel.function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES); };
    if (measure) {
      const uint64_t max = attribute(context_, kernel.function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
      info.max_threads_per_group = info.is_translated ? std::min(info.max_threads_per_group, max) : max;
    }
    if (measure && !info.is_translated) {
      info.group_memory = group_memory();
      info.execution_width = static_cast<uint32_t>(device_attribute(context_, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
    }
    const bool only_own = info.is_translated && !has_local && info.group_memory != 0;
    if (only_own && group_memory() + kSpareGroupBytes <= kMaxUnaskedGroupBytes)
      kernel.spare_group_bytes = kSpareGroupBytes;
    if (has_local) {  // more than 48 KiB must be requested in advance
      const int max = device_attribute(context_, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
      const int rest = max - static_cast<int>(group_memory());
      check(api, api.function_set(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, rest),
            "cuFuncSetAttribute");
    }
    functions_.push_back(std::move(kernel));
  }
  return true;
}

CudaProgram::~CudaProgram() {
  if (module_ == nullptr) return;
  while_current(context_, [this] { context_.api.module_unload(module_); });
}

std::vector<std::byte> CudaProgram::binary() const { return pack_binary(names_, stamps_, cubin_); }

}  // namespace kymo::device::cuda
