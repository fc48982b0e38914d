
#include <algorithm>

#include "base/text.h"
#include "counters/event_names.h"
#include "counters/perf_event.h"
#include "kymo/error.h"

namespace kymo::counters {

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
  const std::vector<std::string> like = names_like(name, kMaxSimilar);
  throw InvalidArgument(like.empty()
                            ? base::format("no performance event \"{}\"; {}", shown(name), what_can_be_counted())
                            : base::format("no performance event \"{}\"; the nearest: {}; {}", shown(name),
                                           base::join(like, ", "), what_can_be_counted()));
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
