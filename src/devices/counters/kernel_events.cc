#include <linux/perf_event.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "counters/event_names.h"

namespace kymo::counters {

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

// The min number of letters to add, remove or change to turn one name into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const bool same = strncasecmp(&a[i], &b[j], 1) == 0;
      const size_t changed = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
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

std::vector<std::string> names_like(std::string_view name, size_t max) {
  constexpr size_t kLongestName = 200;  // the cost grows with the length, and the name may be anything
  if (name.empty() || name.size() > kLongestName) return {};
  std::vector<std::string> names = processor_event_names();
  for (const Event& event : kernel_events()) names.push_back(event.name);
  for (const auto& [alias, meant] : kAliases) names.emplace_back(alias);

  std::vector<std::pair<size_t, std::string>> near;
  for (std::string& candidate : names) {
    const size_t distance = edit_distance(name, candidate);
    if (distance <= std::max(name.size(), candidate.size()) / 2) near.emplace_back(distance, std::move(candidate));
  }
  std::sort(near.begin(), near.end());
  if (near.size() > max) near.resize(max);
  names.clear();
  for (auto& [distance, candidate] : near) names.push_back(std::move(candidate));
  return names;
}

}  // namespace kymo::counters
