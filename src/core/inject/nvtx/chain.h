// A second tool behind this one. Only one tool has a place in NVTX_INJECTION64_PATH, so `kymo record` puts a tool that
// was there into KYMO_NVTX_CHAIN. It is loaded here and receives every call.
//
// It sees one image with all calls of the process. Its slots are here; it may change them at any time. Handles are
// ours: domains, strings, objects and ranges are translated for it.
#pragma once

#include <cstdint>
#include <span>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/images.h"

namespace kymo::inject::nvtx {

// Loads the tool if there is one; other calls do nothing. Prints one line if it cannot be loaded.
void load_chained_tool() noexcept;
bool has_chained_tool() noexcept;
// The same for an extension, after load_chained_tool().
void load_chained_extension(const ExtensionInfo& info) noexcept;

// The functions for the slots of an image if there is a chained tool: they call the tool and `ours`. All of them are
// there always, because the tool may want them while nothing records.
std::span<const Handler> chained_handlers(uint32_t module, std::span<const Handler> ours) noexcept;
std::span<const Handler> chained_extension_handlers(uint16_t module, std::span<const Handler> ours) noexcept;

}  // namespace kymo::inject::nvtx
