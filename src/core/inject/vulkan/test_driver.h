// A Vulkan driver of one device, as far as the layer and its tests use it: command buffers are lists of functions,
// which run when something is submitted, or later. Time goes on by one tick with every timestamp.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "inject/vulkan/layer.h"

namespace kymo::inject::vulkan {

// All objects begin with the loader's table, as those of a real driver do.
struct TestBuffer {
  void* table;
  std::vector<std::function<void()>> commands;
};
struct TestMemory {
  std::vector<uint64_t> words;
};
struct TestDeviceBuffer {
  TestMemory* memory = nullptr;
  uint64_t bytes = 0;
};

class TestDriver {
 public:
  // What the tests choose.
  bool is_calibrated = true;
  uint32_t timestamp_bits = 64;
  VkQueueFlags queue_flags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  float period = 1;
  bool runs_at_once = true;
  VkResult submit_result = VK_SUCCESS;

  // What they look at.
  std::atomic<int> objects{0};  // that were not destroyed
  std::vector<std::string> extensions;
  uint64_t own_submissions = 0, submitted_buffers = 0;

  static TestDriver& get() {
    static TestDriver& one = *new TestDriver;
    return one;
  }
  void reset() {
    is_calibrated = true;
    timestamp_bits = 64;
    queue_flags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    period = 1;
    runs_at_once = true;
    submit_result = VK_SUCCESS;
    own_submissions = submitted_buffers = 0;
    pending_.clear();
    extensions.clear();
  }
  void run_pending() {
    const std::lock_guard lock(mutex_);
    for (const auto& one : pending_) one();
    pending_.clear();
  }
  uint64_t ticks() const {
    return static_cast<uint64_t>(static_cast<double>(base::monotonic_ns() - kOffset) / static_cast<double>(period));
  }
  static constexpr uint64_t kOffset = 1'000;  // between the device's clock and CLOCK_MONOTONIC

  static PFN_vkVoidFunction function(const char* name) {
    static const std::map<std::string, PFN_vkVoidFunction> all = make_functions();
    const auto found = all.find(name);
    if (found == all.end()) return nullptr;
    return found->second;
  }
  static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance, const char* name) {
    return function(name);
  }
  static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice, const char* name) { return function(name); }

 private:
  template <class Handle, class T>
  static Handle handle_of(T* object) {
    return reinterpret_cast<Handle>(object);
  }
  template <class T, class Handle>
  static T* object_of(Handle handle) {
    return reinterpret_cast<T*>(handle);
  }
  template <class Handle, class T>
  static VkResult make(Handle* handle, T* object) {
    ++get().objects;
    *handle = handle_of<Handle>(object);
    return VK_SUCCESS;
  }
  template <class T, class Handle>
  static void destroy(Handle handle) {
    if (handle == VK_NULL_HANDLE) return;
    --get().objects;
    delete object_of<T>(handle);
  }
  static void add(VkCommandBuffer buffer, std::function<void()> command) {
    object_of<TestBuffer>(buffer)->commands.push_back(std::move(command));
  }

  static std::map<std::string, PFN_vkVoidFunction> make_functions();

  std::mutex mutex_;
  std::vector<std::function<void()>> pending_;
  struct Object {
    void* table;
  };
  struct Fence {
    std::atomic<bool> is_set{false};
  };
  using Queries = std::vector<uint64_t>;
  char instance_table_ = 0, device_table_ = 0;
  Object instance_{&instance_table_}, physical_{&instance_table_}, device_{&device_table_};
  Object queues_[2] = {{&device_table_}, {&device_table_}};
};

inline std::map<std::string, PFN_vkVoidFunction> TestDriver::make_functions() {
  std::map<std::string, PFN_vkVoidFunction> all;
  const auto set = [&all]<class Function>(const char* name, Function function, auto) {
    all[name] = reinterpret_cast<PFN_vkVoidFunction>(+function);
  };
#define KYMO_TEST_FUNCTION(name, ...) set("vk" #name, static_cast<PFN_vk##name>(__VA_ARGS__), 0)
  KYMO_TEST_FUNCTION(CreateInstance, [](const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance* made) {
    *made = handle_of<VkInstance>(&get().instance_);
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(DestroyInstance, [](VkInstance, const VkAllocationCallbacks*) {});
  KYMO_TEST_FUNCTION(EnumerateDeviceExtensionProperties,
                     [](VkPhysicalDevice, const char*, uint32_t* count, VkExtensionProperties* properties) {
                       *count = get().is_calibrated ? 1 : 0;
                       if (properties != nullptr && get().is_calibrated)
                         strcpy(properties[0].extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
                       return VK_SUCCESS;
                     });
  KYMO_TEST_FUNCTION(GetPhysicalDeviceProperties, [](VkPhysicalDevice, VkPhysicalDeviceProperties* properties) {
    *properties = {};
    strcpy(properties->deviceName, "Test device");
    properties->limits.timestampPeriod = get().period;
  });
  KYMO_TEST_FUNCTION(GetPhysicalDeviceQueueFamilyProperties,
                     [](VkPhysicalDevice, uint32_t* count, VkQueueFamilyProperties* families) {
                       *count = 1;
                       if (families == nullptr) return;
                       families[0] = {get().queue_flags, 2, get().timestamp_bits, {1, 1, 1}};
                     });
  KYMO_TEST_FUNCTION(GetPhysicalDeviceMemoryProperties, [](VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
    *memory = {};
    memory->memoryTypeCount = 1;
    memory->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  });
  KYMO_TEST_FUNCTION(GetPhysicalDeviceCalibrateableTimeDomainsEXT,
                     [](VkPhysicalDevice, uint32_t* count, VkTimeDomainEXT* domains) {
                       *count = 2;
                       if (domains != nullptr) domains[0] = VK_TIME_DOMAIN_DEVICE_EXT;
                       if (domains != nullptr) domains[1] = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
                       return VK_SUCCESS;
                     });
  KYMO_TEST_FUNCTION(CreateDevice, [](VkPhysicalDevice, const VkDeviceCreateInfo* info, const VkAllocationCallbacks*,
                                      VkDevice* made) {
    get().extensions.assign(info->ppEnabledExtensionNames, info->ppEnabledExtensionNames + info->enabledExtensionCount);
    *made = handle_of<VkDevice>(&get().device_);
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(DestroyDevice, [](VkDevice, const VkAllocationCallbacks*) {});
  KYMO_TEST_FUNCTION(GetDeviceQueue, [](VkDevice, uint32_t, uint32_t index, VkQueue* queue) {
    *queue = handle_of<VkQueue>(&get().queues_[index]);
  });
  KYMO_TEST_FUNCTION(GetCalibratedTimestampsEXT, [](VkDevice, uint32_t, const VkCalibratedTimestampInfoEXT*,
                                                    uint64_t* times, uint64_t* error) {
    times[1] = base::monotonic_ns();
    times[0] = static_cast<uint64_t>(static_cast<double>(times[1] - kOffset) / static_cast<double>(get().period));
    *error = 10;
    return VK_SUCCESS;
  });
  // Command buffers
  KYMO_TEST_FUNCTION(CreateCommandPool, [](VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                                           VkCommandPool* pool) { return make(pool, new std::vector<TestBuffer*>); });
  KYMO_TEST_FUNCTION(DestroyCommandPool, [](VkDevice, VkCommandPool pool, const VkAllocationCallbacks*) {
    for (TestBuffer* one : *object_of<std::vector<TestBuffer*>>(pool)) delete one;
    destroy<std::vector<TestBuffer*>>(pool);
  });
  KYMO_TEST_FUNCTION(AllocateCommandBuffers,
                     [](VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* buffers) {
                       for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
                         auto* made = new TestBuffer{&get().device_table_, {}};
                         object_of<std::vector<TestBuffer*>>(info->commandPool)->push_back(made);
                         buffers[i] = handle_of<VkCommandBuffer>(made);
                       }
                       return VK_SUCCESS;
                     });
  KYMO_TEST_FUNCTION(FreeCommandBuffers, [](VkDevice, VkCommandPool pool, uint32_t count, const VkCommandBuffer* all) {
    for (uint32_t i = 0; i < count; ++i) {
      std::erase(*object_of<std::vector<TestBuffer*>>(pool), object_of<TestBuffer>(all[i]));
      delete object_of<TestBuffer>(all[i]);
    }
  });
  KYMO_TEST_FUNCTION(BeginCommandBuffer, [](VkCommandBuffer buffer, const VkCommandBufferBeginInfo*) {
    object_of<TestBuffer>(buffer)->commands.clear();
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(EndCommandBuffer, [](VkCommandBuffer) { return VK_SUCCESS; });
  KYMO_TEST_FUNCTION(CmdDispatch, [](VkCommandBuffer, uint32_t, uint32_t, uint32_t) {});
  KYMO_TEST_FUNCTION(CmdPipelineBarrier, [](VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
                                            VkDependencyFlags, uint32_t, const VkMemoryBarrier*, uint32_t,
                                            const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {});
  KYMO_TEST_FUNCTION(CmdExecuteCommands, [](VkCommandBuffer buffer, uint32_t count, const VkCommandBuffer* all) {
    for (uint32_t i = 0; i < count; ++i)
      add(buffer, [inner = object_of<TestBuffer>(all[i])] {
        for (const auto& one : inner->commands) one();
      });
  });
  KYMO_TEST_FUNCTION(CmdBeginDebugUtilsLabelEXT, [](VkCommandBuffer, const VkDebugUtilsLabelEXT*) {});
  KYMO_TEST_FUNCTION(CmdEndDebugUtilsLabelEXT, [](VkCommandBuffer) {});
  // Queries
  KYMO_TEST_FUNCTION(CreateQueryPool, [](VkDevice, const VkQueryPoolCreateInfo* info, const VkAllocationCallbacks*,
                                         VkQueryPool* pool) { return make(pool, new Queries(info->queryCount)); });
  KYMO_TEST_FUNCTION(DestroyQueryPool,
                     [](VkDevice, VkQueryPool pool, const VkAllocationCallbacks*) { destroy<Queries>(pool); });
  KYMO_TEST_FUNCTION(CmdResetQueryPool, [](VkCommandBuffer buffer, VkQueryPool pool, uint32_t first, uint32_t count) {
    add(buffer, [queries = object_of<Queries>(pool), first, count] {
      for (uint32_t i = first; i < first + count; ++i) queries->at(i) = 0;
    });
  });
  // Only after a reset.
  KYMO_TEST_FUNCTION(CmdWriteTimestamp,
                     [](VkCommandBuffer buffer, VkPipelineStageFlagBits, VkQueryPool pool, uint32_t query) {
                       add(buffer, [queries = object_of<Queries>(pool), query] {
                         if (queries->at(query) != 0) abort();
                         queries->at(query) = get().ticks();
                       });
                     });
  KYMO_TEST_FUNCTION(CmdCopyQueryPoolResults,
                     [](VkCommandBuffer buffer, VkQueryPool pool, uint32_t first, uint32_t count, VkBuffer to,
                        VkDeviceSize offset, VkDeviceSize, VkQueryResultFlags) {
                       add(buffer, [=, queries = object_of<Queries>(pool), into = object_of<TestDeviceBuffer>(to)] {
                         for (uint32_t i = 0; i < count; ++i) {
                           if (queries->at(first + i) == 0) abort();  // a real device would wait for ever
                           std::atomic_ref<uint64_t>(into->memory->words.at(offset / 8 + i)) = queries->at(first + i);
                         }
                       });
                     });
  // Memory
  KYMO_TEST_FUNCTION(CreateBuffer,
                     [](VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*, VkBuffer* buffer) {
                       return make(buffer, new TestDeviceBuffer{nullptr, info->size});
                     });
  KYMO_TEST_FUNCTION(DestroyBuffer, [](VkDevice, VkBuffer buffer, const VkAllocationCallbacks*) {
    destroy<TestDeviceBuffer>(buffer);
  });
  KYMO_TEST_FUNCTION(GetBufferMemoryRequirements, [](VkDevice, VkBuffer buffer, VkMemoryRequirements* needs) {
    *needs = {object_of<TestDeviceBuffer>(buffer)->bytes, 8, 1};
  });
  KYMO_TEST_FUNCTION(AllocateMemory, [](VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                        VkDeviceMemory* memory) {
    return make(memory, new TestMemory{std::vector<uint64_t>(info->allocationSize / 8 + 1)});
  });
  KYMO_TEST_FUNCTION(
      FreeMemory, [](VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) { destroy<TestMemory>(memory); });
  KYMO_TEST_FUNCTION(BindBufferMemory, [](VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize) {
    object_of<TestDeviceBuffer>(buffer)->memory = object_of<TestMemory>(memory);
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(MapMemory,
                     [](VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void** mapped) {
                       *mapped = object_of<TestMemory>(memory)->words.data();
                       return VK_SUCCESS;
                     });
  KYMO_TEST_FUNCTION(
      CmdFillBuffer, [](VkCommandBuffer buffer, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes, uint32_t value) {
        if (object_of<TestDeviceBuffer>(to) == nullptr) return;
        add(buffer, [into = object_of<TestDeviceBuffer>(to), offset, bytes, value] {
          for (uint64_t i = 0; i < bytes / 8; ++i)
            std::atomic_ref<uint64_t>(into->memory->words.at(offset / 8 + i)) = uint64_t{value} << 32 | value;
        });
      });
  // Queues
  KYMO_TEST_FUNCTION(CreateFence, [](VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*, VkFence* fence) {
    return make(fence, new Fence);
  });
  KYMO_TEST_FUNCTION(DestroyFence,
                     [](VkDevice, VkFence fence, const VkAllocationCallbacks*) { destroy<Fence>(fence); });
  KYMO_TEST_FUNCTION(GetFenceStatus, [](VkDevice, VkFence fence) {
    return object_of<Fence>(fence)->is_set ? VK_SUCCESS : VK_NOT_READY;
  });
  KYMO_TEST_FUNCTION(ResetFences, [](VkDevice, uint32_t count, const VkFence* fences) {
    for (uint32_t i = 0; i < count; ++i) object_of<Fence>(fences[i])->is_set = false;
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(WaitForFences, [](VkDevice, uint32_t count, const VkFence* fences, VkBool32, uint64_t) {
    for (uint32_t i = 0; i < count; ++i)
      if (!object_of<Fence>(fences[i])->is_set) return VK_TIMEOUT;
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(QueueSubmit, [](VkQueue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    TestDriver& driver = get();
    const std::lock_guard lock(driver.mutex_);
    if (driver.submit_result != VK_SUCCESS) return driver.submit_result;
    if (count == 0) ++driver.own_submissions;
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t j = 0; j < infos[i].commandBufferCount; ++j) {
        ++driver.submitted_buffers;
        driver.pending_.push_back([buffer = object_of<TestBuffer>(infos[i].pCommandBuffers[j])] {
          for (const auto& one : buffer->commands) one();
        });
      }
    if (fence != VK_NULL_HANDLE) driver.pending_.push_back([set = object_of<Fence>(fence)] { set->is_set = true; });
    if (driver.runs_at_once) {
      for (const auto& one : driver.pending_) one();
      driver.pending_.clear();
    }
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(QueueWaitIdle, [](VkQueue) {
    get().run_pending();
    return VK_SUCCESS;
  });
  KYMO_TEST_FUNCTION(DeviceWaitIdle, [](VkDevice) {
    get().run_pending();
    return VK_SUCCESS;
  });
#undef KYMO_TEST_FUNCTION
  return all;
}

}  // namespace kymo::inject::vulkan
