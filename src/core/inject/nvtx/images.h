// The images of the process that use NVTX, and their slots: the adapter puts its functions there while it is active,
// and null while it is dormant.
//
// An image may be unloaded at any time, and another one may take its place. So its slots are written only inside of
// dl_iterate_phdr, which keeps images from being unloaded, and only if its tables are still as they were.
#pragma once

#include <cstdint>
#include <span>

#include "inject/nvtx/abi.h"

namespace kymo::inject::nvtx {

// What the adapter does with one slot. The functions that create or name something are always there: a handle or a name
// that is created while the adapter is dormant is needed later.
enum class When : uint8_t { Never, Active, Always };
struct Handler {
  Slot function = nullptr;
  When when = When::Never;
};

template <class Function>
Handler while_active(Function* function) noexcept {
  return {reinterpret_cast<Slot>(function), When::Active};
}
template <class Function>
Handler always(Function* function) noexcept {
  return {reinterpret_cast<Slot>(function), When::Always};
}

// The functions of the adapter by module and number, for the slots of an image.
std::span<const Handler> handlers_of(uint32_t module) noexcept;

// The same for an extension. Empty: the adapter has no functions for it.
std::span<const Handler> extension_handlers_of(uint16_t module) noexcept;

// The first call in an image. False: it is not an image of NVTX 3.
bool attach_image(GetExportTable get_table) noexcept;

// The same for the slots of an extension in an image. The handler of the first slot is there always.
bool attach_extension(intptr_t* slots, size_t count, std::span<const Handler> handlers) noexcept;

// Put the functions into the slots of all images, or remove them. Any thread may call them.
void activate_images() noexcept;
void deactivate_images() noexcept;
bool images_active() noexcept;

}  // namespace kymo::inject::nvtx
