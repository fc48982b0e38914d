// The functions of the adapter by module and number, for the slots of an image.
#pragma once

#include <span>

#include "inject/nvtx/images.h"

namespace kymo::inject::nvtx {

template <class Function>
Handler while_active(Function* function) noexcept {
  return {reinterpret_cast<Slot>(function), When::Active};
}
template <class Function>
Handler always(Function* function) noexcept {
  return {reinterpret_cast<Slot>(function), When::Always};
}

std::span<const Handler> cuda_handlers() noexcept;
std::span<const Handler> cuda_runtime_handlers() noexcept;
std::span<const Handler> opencl_handlers() noexcept;
std::span<const Handler> sync_handlers() noexcept;

// Slots 6 and 7 of CORE2.
Handler resource_create_handler() noexcept;
Handler resource_destroy_handler() noexcept;

// Of the extensions.
std::span<const Handler> payload_handlers() noexcept;
std::span<const Handler> counter_handlers() noexcept;
std::span<const Handler> memory_handlers() noexcept;

}  // namespace kymo::inject::nvtx
