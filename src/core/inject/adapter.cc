#include "inject/adapter.h"

#include <stdio.h>
#include <string.h>

#include <atomic>

#include "base/print.h"
#include "base/static_program.h"
#include "inject/torch/operators.h"
#include "record/process.h"

namespace kymo::inject {
namespace {

constinit std::atomic<const Adapter*> adapters[record::kMaxInterfaces];

void activate_all() noexcept {
  torch::start_if_loaded();  // it may have been loaded after the last call of the program that led here
  for (const auto& adapter : adapters)
    if (const Adapter* started = adapter.load(std::memory_order_acquire))
      if (started->has_iterations || record::recording()) started->activate();
}

bool is_needed() noexcept { return record::recording() || record::range_watcher() != nullptr; }

void note_change() noexcept { is_needed() ? activate_all() : become_dormant(); }

// True if a list such as "nvtx,opencl" contains the name.
bool lists(const char* list, std::string_view name) noexcept {
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    if (std::string_view(list, length) == name) return true;
    list += length + (list[length] == ',' ? 1 : 0);
  }
  return false;
}

}  // namespace

bool is_wanted(record::Interface interface) noexcept {
  // The library has come with a second C library, which does not know of the threads and forks of the program.
  if (base::is_static_program()) {
    static constinit std::atomic<bool> is_said{false};
    const bool is_reported = base::environment("KYMO_STATIC_PROGRAM") != nullptr;  // by `kymo record`
    if (!is_said.exchange(true) && !is_reported)
      fputs("kymo: this program is not recorded, because it is linked statically\n", stderr);
    return false;
  }
  const char* const wanted = base::environment("KYMO_INTERFACES");
  return wanted == nullptr || lists(wanted, record::name_of(interface));
}

void listen() noexcept { record::call_when_wanted(note_change); }

void start(const Adapter& adapter) noexcept {
  const Adapter* expected = nullptr;
  if (!adapters[static_cast<uint32_t>(adapter.interface)].compare_exchange_strong(expected, &adapter)) return;
  // A recording that starts now calls note_change(), or is seen by recording().
  listen();
  if (record::recording() || (adapter.has_iterations && record::range_watcher() != nullptr)) adapter.activate();
}

void become_dormant() noexcept {
  for (const auto& adapter : adapters)
    if (const Adapter* started = adapter.load(std::memory_order_acquire)) started->deactivate();
  if (is_needed()) activate_all();  // a recording has started meanwhile
}

bool is_on(base::Variable variable, bool if_not_set) {
  const char* const value = base::environment(variable);
  if (value == nullptr || *value == '\0') return if_not_set;
  const std::string_view text = value;
  if (text == "on") return true;
  if (text == "off") return false;
  base::say_to_user(std::string(variable.name()) + ": use on or off, not ", text);
  return if_not_set;
}

std::string plain_name(std::string_view text) {
  std::string name;
  for (const char byte : text) name.append(byte == '{' || byte == '}' ? 2 : 1, byte);
  return name;
}

}  // namespace kymo::inject
