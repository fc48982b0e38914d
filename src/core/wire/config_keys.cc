#include "wire/config_keys.h"

#include <algorithm>
#include <array>

namespace kymo::wire {
namespace {

using R = TraceRequest;

// PROFILE_MEMORY comes before ACTIVITIES_LOG_FILE, because it resets the path.
constexpr ConfigKey kConfigKeys[] = {
    {"PROFILE_MEMORY", &R::memory_snapshot},
    {"PROFILE_MEMORY_DURATION_MSECS", &R::memory_duration_ms},
    {"ACTIVITIES_LOG_FILE", &R::output},
    {"ACTIVITIES_ENABLED", &R::enabled},
    {"PROFILE_START_TIME", &R::start_ms, INT64_MAX},
    {"ACTIVITIES_DURATION_MSECS", &R::duration_ms, uint64_t{INT32_MAX} * 1000},
    {"ACTIVITIES_DURATION_SECS", &R::duration_ms, INT32_MAX, 1000, true},
    {"ACTIVITIES_WARMUP_PERIOD_SECS", &R::warmup_s},
    {"PROFILE_START_ITERATION", &R::start_iteration},
    {"PROFILE_START_ITERATION_ROUNDUP", &R::iteration_roundup},
    {"ACTIVITIES_ITERATIONS", &R::iterations},
    {"ACTIVITIES_WARMUP_ITERATIONS", &R::warmup_iterations},
    {"ACTIVITY_TYPES", &R::activity_types},
    {"PROFILE_REPORT_INPUT_SHAPES", &R::shapes},
    {"CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION", &R::shapes, 0, 1, true},
    {"PROFILE_PROFILE_MEMORY", &R::memory_events},
    {"PROFILE_WITH_STACK", &R::stack},
    {"PYTHON_STACK_TRACE", &R::stack, 0, 1, true},
    {"PROFILE_WITH_FLOPS", &R::flops},
    {"PROFILE_WITH_MODULES", &R::modules},
    {"ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS", &R::sync_wait_events},
    {"ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", &R::gpu_buffer_mb},
    {"CUPTI_PER_THREAD_BUFFER_ENABLED", &R::cupti_per_thread_buffers},
    {"CUPTI_PM_SAMPLING_METRICS", &R::cupti_pm_metrics},
    {"CUPTI_PM_SAMPLING_DEVICE_ID", &R::cupti_pm_device},
    {"ROCTRACER_MAX_EVENTS", &R::roctracer_events},
    {"CUSTOM_CONFIG", &R::custom},
    {"ENABLE_IPC_FABRIC", &R::use_daemon},
    {"ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS", &R::poll_interval_s},
    {"VERBOSE_LOG_LEVEL", &R::verbose_level},
    {"VERBOSE_LOG_MODULES", &R::verbose_modules},
    {"REQUEST_TRACE_ID", &R::trace_id},
    {"REQUEST_GROUP_TRACE_ID", &R::group_trace_id},
};

constexpr std::array kActivityTypes = std::to_array<std::string_view>({"cpu_op",
                                                                       "user_annotation",
                                                                       "gpu_user_annotation",
                                                                       "gpu_memcpy",
                                                                       "gpu_memset",
                                                                       "kernel",
                                                                       "external_correlation",
                                                                       "cuda_runtime",
                                                                       "cuda_driver",
                                                                       "cpu_instant_event",
                                                                       "python_function",
                                                                       "overhead",
                                                                       "mtia_runtime",
                                                                       "mtia_ccp_events",
                                                                       "mtia_insight",
                                                                       "cuda_sync",
                                                                       "cuda_event",
                                                                       "mtia_counters",
                                                                       "glow_runtime",
                                                                       "cuda_profiler_range",
                                                                       "hpu_op",
                                                                       "xpu_runtime",
                                                                       "xpu_driver",
                                                                       "collective_comm",
                                                                       "privateuse1_runtime",
                                                                       "privateuse1_driver",
                                                                       "xpu_scope_profiler",
                                                                       "xpu_sync",
                                                                       "hardware_counters"});

}  // namespace

std::span<const ConfigKey> config_keys() { return kConfigKeys; }

const ConfigKey* find_config_key(std::string_view name) {
  const auto* found = std::ranges::find(kConfigKeys, name, &ConfigKey::name);
  return found == std::end(kConfigKeys) ? nullptr : found;
}

bool is_retired_config_key(std::string_view name) { return name.starts_with("EVENTS_") || name == "ENABLE_SIGUSR2"; }

bool is_activity_type(std::string_view name) { return std::ranges::find(kActivityTypes, name) != kActivityTypes.end(); }

}  // namespace kymo::wire
