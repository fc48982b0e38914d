#include "inject/itt/collector.h"

#include <string.h>

#include <new>
#include <string>
#include <string_view>

#include "inject/adapter.h"
#include "inject/open_ranges.h"
#include "record/interfaces.h"

namespace kymo::inject::itt {
namespace {

constexpr size_t kMaxText = 4096;
constexpr uint8_t kTask = 0;  // the only kind of ranges. Tasks nest within a domain.

// The thread's tasks, made with its first one. A pointer: the space for such variables of loaded libraries is small.
struct ThreadTasks {
  ~ThreadTasks();
};
thread_local constinit OpenRanges* this_tasks __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadTasks::~ThreadTasks() {
  delete this_tasks;
  this_tasks = nullptr;
}

OpenRanges* tasks() noexcept {
  if (this_tasks == nullptr) {
    this_tasks = new (std::nothrow) OpenRanges(record::Interface::Itt);
    static thread_local ThreadTasks at_exit;
    (void)&at_exit;
  }
  return this_tasks;
}

bool is_on() noexcept {
  static const bool wanted = is_wanted(record::Interface::Itt);
  return wanted;
}

std::string_view text_of(const char* text, std::string_view otherwise) noexcept {
  return text != nullptr && *text != '\0' ? std::string_view(text, strnlen(text, kMaxText)) : otherwise;
}

// Calls `use` with the label of an event.
template <class Use>
void with_label(const Domain* domain, const String* name, Use use) noexcept {
  const std::string_view text = text_of(name != nullptr ? name->text : nullptr, "task");
  const std::string_view category = text_of(domain != nullptr ? domain->name : nullptr, "itt");
  if (text.find_first_of("{}") == text.npos) return use(Label(text, category));
  try {
    const std::string plain = plain_name(text);
    use(Label(plain, category));
  } catch (const std::bad_alloc&) {
    use(Label("task", category));
  }
}

}  // namespace
}  // namespace kymo::inject::itt

using namespace kymo::inject::itt;

const char* __itt_api_version(void) { return "Kymo"; }

void __itt_task_begin(const Domain* domain, Id, Id, const String* name) {
  if (!is_on()) return;
  auto* const open = tasks();
  if (open == nullptr) return;
  with_label(domain, name, [&](const kymo::Label& label) {
    open->begin(kTask, domain, [&](uint32_t receivers) { kymo_begin_label_heard(&label, nullptr, 0, receivers); });
  });
}

void __itt_task_end(const Domain* domain) {
  if (this_tasks != nullptr) this_tasks->end(kTask, domain);
}

void __itt_marker(const Domain* domain, Id, const String* name, int) {
  if (is_on() && kymo::detail::receiver_bits() != 0)
    with_label(domain, name, [](const kymo::Label& label) { kymo::mark(label); });
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
