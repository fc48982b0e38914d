#include "counters/event_names.h"

#if KYMO_HAVE_PFM

#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>

#include <mutex>

namespace kymo::counters {

namespace {

// libpfm4 does not document thread safety, so only one thread uses it at a time.
std::mutex pfm_mutex;

bool pfm_ready() {
  static const bool ready = pfm_initialize() == PFM_SUCCESS;
  return ready;
}

// Appends one name per unit mask, or one name if there are no masks.
void append_names(int index, const pfm_event_info_t& event, std::vector<std::string>& names) {
  bool has_masks = false;
  for (int i = 0; i < event.nattrs; ++i) {
    pfm_event_attr_info_t attribute{};
    attribute.size = sizeof attribute;
    if (pfm_get_event_attr_info(index, i, PFM_OS_PERF_EVENT, &attribute) != PFM_SUCCESS ||
        attribute.type != PFM_ATTR_UMASK)
      continue;
    has_masks = true;
    names.push_back(std::string(event.name) + ":" + attribute.name);
  }
  if (!has_masks) names.emplace_back(event.name);
}

}  // namespace

std::optional<Event> processor_event(const std::string& name) {
  const std::lock_guard lock(pfm_mutex);
  if (!pfm_ready()) return std::nullopt;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  pfm_perf_encode_arg_t arguments{};
  arguments.attr = &attributes;
  arguments.size = sizeof arguments;
  if (pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &arguments) != PFM_SUCCESS)
    return std::nullopt;
  Event event;
  event.name = name;
  event.type = attributes.type;
  event.config = attributes.config;
  event.config1 = attributes.config1;
  event.config2 = attributes.config2;
  event.exclude_kernel = attributes.exclude_kernel != 0 && !only_in_kernel(event);
  event.exclude_user = attributes.exclude_user != 0 && !only_in_kernel(event);
  return event;
}

std::vector<std::string> processor_event_names() {
  const std::lock_guard lock(pfm_mutex);
  std::vector<std::string> names;
  if (!pfm_ready()) return names;
  for (int unit = 0; unit < PFM_PMU_MAX; ++unit) {
    // kernel_events() already has the names of the kernel's own events, and every number is a raw event.
    if (unit == PFM_PMU_PERF_EVENT || unit == PFM_PMU_PERF_EVENT_RAW) continue;
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(unit), &info) != PFM_SUCCESS || !info.is_present) continue;
    for (int index = info.first_event; index >= 0; index = pfm_get_event_next(index)) {
      pfm_event_info_t event{};
      event.size = sizeof event;
      if (pfm_get_event_info(index, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS) append_names(index, event, names);
    }
  }
  return names;
}

}  // namespace kymo::counters

#else

namespace kymo::counters {

std::optional<Event> processor_event(const std::string&) { return std::nullopt; }
std::vector<std::string> processor_event_names() { return {}; }

}  // namespace kymo::counters

#endif
