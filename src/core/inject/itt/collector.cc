#include "inject/itt/collector.h"

#include <string.h>

#include <string_view>

#include "inject/adapter.h"
#include "inject/open_ranges.h"
#include "record/interfaces.h"

namespace kymo::inject::itt {
namespace {

constexpr size_t kMaxText = 4096;
constexpr uint8_t kTask = 0;  // the only kind of ranges. Tasks nest within a domain.

using Tasks = ThreadRanges<record::Interface::Itt>;

bool is_on() noexcept {
  static const bool wanted = is_wanted(record::Interface::Itt);
  return wanted;
}

std::string_view text_of(const char* text, std::string_view otherwise) noexcept {
  return text != nullptr && *text != '\0' ? std::string_view(text, strnlen(text, kMaxText)) : otherwise;
}

// Its events have no arguments, so braces in a name are text.
Label label_of(const Domain* domain, const String* name) noexcept {
  return Label(text_of(name != nullptr ? name->text : nullptr, "task"),
               text_of(domain != nullptr ? domain->name : nullptr, "itt"));
}

}  // namespace
}  // namespace kymo::inject::itt

using namespace kymo::inject::itt;

const char* __itt_api_version(void) { return "Kymo"; }

void __itt_task_begin(const Domain* domain, Id, Id, const String* name) {
  auto* const open = is_on() ? Tasks::get() : nullptr;
  if (open == nullptr) return;
  const kymo::Label label = label_of(domain, name);
  open->begin(kTask, domain, [&](uint32_t receivers) { kymo_begin_label_heard(&label, nullptr, 0, receivers); });
}

void __itt_task_end(const Domain* domain) {
  if (auto* const open = Tasks::if_there()) open->end(kTask, domain);
}

void __itt_marker(const Domain* domain, Id, const String* name, int) {
  if (is_on()) kymo::mark(label_of(domain, name));
}

void __itt_thread_set_name(const char* name) {
  if (is_on() && name != nullptr) kymo_set_thread_name(name);
}

// Something that is not null. Nobody looks into it.
void* __itt_stack_caller_create(void) {
  static char caller;
  return &caller;
}
void __itt_stack_caller_destroy(void*) {}
void __itt_stack_callee_enter(void*) {}
void __itt_stack_callee_leave(void*) {}
