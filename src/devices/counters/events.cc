#include "counters/events.h"

#include <linux/perf_event.h>
#include <strings.h>
#if KYMO_HAVE_PFM
#include <perfmon/pfmlib_perf_event.h>
#endif

#include <algorithm>
#include <array>
#include <mutex>

#include "base/suggest.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::counters {

// ---- Events of the kernel -------------------------------------------------------------------------------------------

namespace {

struct NamedEvent {
  const char* name;
  uint32_t type;
  uint64_t config;
};

constexpr NamedEvent kUsual[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"pagefaults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"backend-stall-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"frontend-stall-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
};

// Aliases that perf and the kernel use, each with its name above.
constexpr std::array<const char*, 2> kAliases[] = {
    {"cpu-cycles", "cycles"},
    {"page-faults", "pagefaults"},
    {"faults", "pagefaults"},
    {"stalled-cycles-backend", "backend-stall-cycles"},
    {"idle-cycles-backend", "backend-stall-cycles"},
    {"stalled-cycles-frontend", "frontend-stall-cycles"},
    {"idle-cycles-frontend", "frontend-stall-cycles"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
    {"branch-instructions", "branches"},
};

struct CachePart {
  const char* name;
  uint64_t id;
};
constexpr CachePart kCaches[] = {
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I}, {"LLC", PERF_COUNT_HW_CACHE_LL},
    {"dTLB", PERF_COUNT_HW_CACHE_DTLB},     {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"branch", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE},
};
constexpr CachePart kCacheUses[] = {
    {"-load", PERF_COUNT_HW_CACHE_OP_READ},
    {"-store", PERF_COUNT_HW_CACHE_OP_WRITE},
    {"-prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH},
};

Event make_event(std::string name, uint32_t type, uint64_t config) {
  Event event;
  event.name = std::move(name);
  event.type = type;
  event.config = config;
  event.exclude_kernel = !only_in_kernel(event);
  return event;
}

std::vector<Event> make_kernel_events() {
  std::vector<Event> events;
  for (const NamedEvent& named : kUsual) events.push_back(make_event(named.name, named.type, named.config));
  for (const CachePart& cache : kCaches)
    for (const CachePart& use : kCacheUses) {
      const std::string name = std::string(cache.name) + use.name;
      const uint64_t config = cache.id | use.id << 8;
      const char* const plural = use.id == PERF_COUNT_HW_CACHE_OP_PREFETCH ? "es" : "s";
      events.push_back(make_event(name + plural, PERF_TYPE_HW_CACHE, config | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16));
      events.push_back(
          make_event(name + "-misses", PERF_TYPE_HW_CACHE, config | PERF_COUNT_HW_CACHE_RESULT_MISS << 16));
    }
  return events;
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

bool only_in_kernel(const Event& event) noexcept {
  if (event.type == PERF_TYPE_TRACEPOINT) return true;
  if (event.type != PERF_TYPE_SOFTWARE) return false;
  constexpr uint64_t kCgroupSwitches = 11;  // some kernel headers are older than this event
  return event.config == PERF_COUNT_SW_CONTEXT_SWITCHES || event.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
         event.config == kCgroupSwitches;
}

std::span<const Event> kernel_events() {
  static const std::vector<Event> events = make_kernel_events();
  return events;
}

std::optional<Event> kernel_event(std::string_view name) {
  std::string_view first_name = name;
  for (const auto& [alias, meant] : kAliases)
    if (same_name(name, alias)) first_name = meant;
  for (const Event& event : kernel_events()) {
    if (!same_name(first_name, event.name)) continue;
    Event found = event;
    found.name = name;
    return found;
  }
  return std::nullopt;
}

// ---- Events of the processor ----------------------------------------------------------------------------------------

#if KYMO_HAVE_PFM

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

#else

std::optional<Event> processor_event(const std::string&) { return std::nullopt; }
std::vector<std::string> processor_event_names() { return {}; }

#endif

// ---- All of them ----------------------------------------------------------------------------------------------------

namespace {

constexpr size_t kMaxSimilar = 3;

// Makes a name safe to print in a message. The name can come from any source.
std::string shown(std::string_view name) {
  constexpr size_t kLongest = 60;
  std::string text(name.substr(0, kLongest));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return name.size() > kLongest ? text + "…" : text;
}

std::vector<std::string> countable_kernel_events() {
  std::vector<std::string> names;
  for (const Event& event : kernel_events())
    if (try_event(event) == 0) names.push_back(event.name);
  return names;
}

std::vector<std::string> countable_processor_events() {
  std::vector<std::string> names;
  for (std::string& name : processor_event_names())
    if (const auto event = processor_event(name); event && try_event(*event) == 0) names.push_back(std::move(name));
  return names;
}

// "countable here: pagefaults, task-clock, … and 212 more: kymo::edge::event_names()".
std::string what_can_be_counted() {
  const std::vector<std::string> names = countable_kernel_events();
  if (names.empty()) return "nothing can be counted here";
  std::string text = base::format("countable here: {}", base::join(names, ", "));
  if (const size_t more = countable_processor_events().size())
    text += base::format(" and {} more: kymo::edge::event_names()", more);
  return text;
}

Event find_event(const std::string& name) {
  // C functions would read a name with a zero byte only up to that byte, and find another event.
  if (name.find('\0') == std::string::npos) {
    if (auto event = kernel_event(name)) return *std::move(event);
    if (auto event = processor_event(name)) return *std::move(event);
  }
  std::vector<std::string> names = processor_event_names();
  for (const Event& event : kernel_events()) names.push_back(event.name);
  for (const auto& [alias, meant] : kAliases) names.emplace_back(alias);
  throw InvalidArgument(base::format("no performance event \"{}\"; the nearest: {}; {}", shown(name),
                                     base::join(base::closest(name, names, kMaxSimilar), ", "), what_can_be_counted()));
}

}  // namespace

std::vector<Event> find_events(std::span<const std::string> names) {
  if (names.size() > kMaxEvents)
    throw InvalidArgument(
        base::format("{} performance events: at most {} are counted at once", names.size(), kMaxEvents));
  std::vector<Event> events;
  for (const std::string& name : names) {
    Event event = find_event(name);
    if (std::find_if(events.begin(), events.end(), [&](const Event& other) { return other.name == event.name; }) !=
        events.end())
      throw InvalidArgument(base::format("performance event \"{}\" is given twice", shown(name)));
    if (const int error = try_event(event))
      throw NotAvailable(base::format("performance event \"{}\" cannot be counted: {}; {}", shown(name),
                                      refusal(event, error), what_can_be_counted()));
    events.push_back(std::move(event));
  }
  if (!events.empty()) ThreadGroup together(events);
  return events;
}

std::vector<std::string> countable_events() {
  std::vector<std::string> names = countable_kernel_events();
  for (std::string& name : countable_processor_events()) names.push_back(std::move(name));
  return names;
}

}  // namespace kymo::counters
