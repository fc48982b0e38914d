#include "device/cuda/errors.h"

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::cuda {

std::string error_name(const Api& api, CUresult result) {
  const char* name = nullptr;
  if (api.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "an error without a name";
  return base::format("{} ({})", name, static_cast<int>(result));
}

std::string error_text(const Api& api, CUresult result) {
  const char* text = nullptr;
  if (api.error_string(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return text;
}

bool is_fault(CUresult result) {
  // Numbers, since older headers lack some of the names.
  switch (static_cast<int>(result)) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
      return true;
    default:
      return false;
  }
}

void throw_error(const Api& api, CUresult result, const char* call) {
  const char* remedy = "";
  if (is_fault(result))
    remedy =
        "; from now on every call on this device fails until device::reset(); if the driver refuses the reset, restart "
        "the process";
  if (result == CUDA_ERROR_INVALID_VALUE) remedy = "; a size or an address is out of range for the device";
  if (result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    remedy = "; the group needs more registers or group memory than the device has: use a smaller group";
  throw DeviceError(base::format("{}: {}: {}{}", call, error_name(api, result), error_text(api, result), remedy));
}

}  // namespace kymo::device::cuda
