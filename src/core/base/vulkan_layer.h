// How Kymo's own device runtime and Kymo's Vulkan layer recognize each other in one process.
#pragma once

namespace kymo::base {

// The layer does not record an instance whose engine has this name, because the runtime records its work itself.
inline constexpr const char* kVulkanEngine = "Kymo";

// The name of the layer, as in VK_INSTANCE_LAYERS, and its manifest in the folder of the libraries.
inline constexpr const char* kVulkanLayer = "VK_LAYER_KYMO_record";
inline constexpr const char* kVulkanManifest = "kymo/vulkan/kymo_layer.json";

}  // namespace kymo::base
