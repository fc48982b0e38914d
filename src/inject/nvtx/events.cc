#include "inject/nvtx/events.h"

#include "inject/adapter.h"
#include "inject/nvtx/event_args.h"
#include "inject/nvtx/message.h"
#include "record/loss.h"
#include "record/numbers.h"
#include "record/slow_path.h"

namespace kymo::inject::nvtx {
namespace {

using record::Kind;

// Stores and counts. A thread's first event gives it another slot, so the slot is read afterwards.
void store(Kind kind, uint16_t stack, const kymo_label& label, const kymo_arg* args, uint32_t count,
           uint64_t handle) noexcept {
  const record::FoundClass found = record::class_for(label, args, count);
  const uint32_t word = kind == Kind::Begin ? record::on_stack(found.id, stack) : found.id;
  if (found.name_inline || count != 0) {
    record::store_event(kind, word, found.name_inline ? label.name : nullptr, label.name_length, args, count,
                        kind == Kind::AsyncBegin ? &handle : nullptr);
  } else if (kind == Kind::AsyncBegin) {
    record::store_number(kind, word, handle);
  } else {
    record::store_cell(kind, word);
  }
  if (record::Slot* const slot = record::this_slot) record::count_delivered(*slot, record::Interface::Nvtx);
}

}  // namespace

void idle_call() noexcept {
  if (!record::recording()) become_dormant();
}

void store_text(Kind kind, Domain& domain, std::string_view text, uint64_t handle) noexcept {
  if (domain.stack == 0) return;
  store(kind, domain.stack, {text.data(), domain.name, static_cast<uint32_t>(text.size()), domain.name_length, 0},
        nullptr, 0, handle);
}

void store_on_stack(Domain& domain, std::string_view text, uint16_t stack) noexcept {
  if (domain.stack == 0) return;
  store(Kind::Begin, stack, {text.data(), domain.name, static_cast<uint32_t>(text.size()), domain.name_length, 0},
        nullptr, 0, 0);
}

void store_with_args(Kind kind, Domain& domain, std::string_view name, const kymo_arg* args, uint32_t count,
                     uint64_t handle, uint32_t colour) noexcept {
  if (domain.stack == 0) return;
  store(kind, domain.stack, {name.data(), domain.name, static_cast<uint32_t>(name.size()), domain.name_length, colour},
        args, count, handle);
}

void store_attributes(Kind kind, Domain& domain, const EventAttributes* event, uint64_t handle) noexcept {
  if (domain.stack == 0) return;
  if (is_only_string(event)) {
    // Looked up once: the site keeps the class.
    RegisteredString& string = *event->message.registered;
    const record::FoundClass found = record::class_at(string.site, nullptr, 0);
    if (!found.name_inline && kind != Kind::AsyncBegin) {
      record::store_cell(kind, kind == Kind::Begin ? record::on_stack(found.id, domain.stack) : found.id);
      if (record::Slot* const slot = record::this_slot) record::count_delivered(*slot, record::Interface::Nvtx);
      return;
    }
  }
  EventArgs args(domain, event);
  store(kind, domain.stack, args.label(), args.data(), args.count(), handle);
}

int store_pushed_text(Domain& domain, const char* text, int depth) noexcept {
  if (!record::recording()) {
    idle_call();
    return depth;
  }
  const Text message(text);
  store_text(Kind::Begin, domain, message.view(), 0);
  return depth;
}

int store_pushed(Domain& domain, const EventAttributes* event, int depth) noexcept {
  if (record::recording())
    store_attributes(Kind::Begin, domain, event, 0);
  else
    idle_call();
  return depth;
}

int store_popped(Domain& domain, int depth) noexcept {
  if (!record::recording())
    idle_call();
  else if (domain.stack != 0)
    record::store_cell(Kind::End, record::on_stack(0, domain.stack));
  return depth;
}

int pop_without_push() noexcept {
  if (!record::recording()) {
    idle_call();
  } else if (has_every_call()) {
    if (record::Slot* slot = record::enter_ring()) record::count_loss(*slot, record::kLossUnmatchedPop, 1);
  }
  return -1;
}

uint64_t start_range(Domain& domain, std::string_view text) noexcept {
  const bool recorded = record::recording();
  const uint64_t handle = record::next_handle(recorded);
  if (recorded)
    store_text(Kind::AsyncBegin, domain, text, handle);
  else
    idle_call();
  return handle;
}

uint64_t start_range(Domain& domain, const EventAttributes* event) noexcept {
  const bool recorded = record::recording() && domain.stack != 0;
  const uint64_t handle = record::next_handle(recorded);
  if (recorded)
    store_attributes(Kind::AsyncBegin, domain, event, handle);
  else
    idle_call();
  return handle;
}

void store_end(uint64_t handle) noexcept {
  if (!record::recording()) return idle_call();
  const record::Process* const shared = record::process();
  if (shared == nullptr) return;
  switch (record::origin_of_handle(*shared, handle)) {
    case record::HandleOrigin::ThisRecording: {
      record::store_number(Kind::AsyncEnd, 0, handle);
      break;
    }
    case record::HandleOrigin::NotThisRecording:
      break;
    case record::HandleOrigin::Unknown:
      // A range that was started while nothing recorded has the id 0.
      if (!has_every_call()) break;
      if (record::Slot* slot = record::enter_ring()) record::count_loss(*slot, record::kLossUnknownRange, 1);
      break;
  }
}

void mark(Domain& domain, std::string_view text) noexcept {
  if (record::recording())
    store_text(Kind::Instant, domain, text, 0);
  else
    idle_call();
}

void mark(Domain& domain, const EventAttributes* event) noexcept {
  if (record::recording())
    store_attributes(Kind::Instant, domain, event, 0);
  else
    idle_call();
}

}  // namespace kymo::inject::nvtx
