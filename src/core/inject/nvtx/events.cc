#include "inject/nvtx/events.h"

#include <string.h>

#include <algorithm>
#include <bit>

#include "base/iteration_name.h"
#include "inject/adapter.h"
#include "inject/nvtx/hot_path.h"
#include "inject/nvtx/numbered_text.h"
#include "record/interfaces.h"
#include "record/numbers.h"
#include "record/process.h"
#include "record/slow_path.h"

namespace kymo::inject::nvtx {
namespace {

using record::Kind;

constexpr uint32_t kOpaque = 0xff000000;

// As much as the caller's structure has. Older callers have a shorter one; the rest is zero.
EventAttributes read(const EventAttributes* event) noexcept {
  EventAttributes known{};
  if (event == nullptr) return known;
  uint16_t head[2];
  memcpy(head, event, sizeof head);
  memcpy(&known, event, std::min<size_t>(std::max<size_t>(head[1], sizeof head), sizeof known));
  return known;
}

}  // namespace

EventArgs::EventArgs(Domain& domain, const EventAttributes* event) noexcept : EventArgs(domain, read(event)) {}

EventArgs::EventArgs(Domain& domain, const EventAttributes& event) noexcept
    : message_(event.message_type, event.message) {
  label_ = {nullptr, domain.name, 0, domain.name_length, 0};
  if (event.colour_type == kArgb) set_colour(event.colour);
  if (event.category != 0) add_category(domain, event.category);
  if (event.payload_type == kExtended)
    add_extended(domain, event);
  else
    add_value(event.payload_type, event.payload);
  const std::string_view name = count_ == 0 ? message_.view() : message_.as_name();
  label_.name = name.data();
  label_.name_length = static_cast<uint32_t>(name.size());
}

// Some callers leave the alpha 0 and mean a visible colour.
void EventArgs::set_colour(uint32_t argb) noexcept { label_.colour = argb | ((argb & kOpaque) == 0 ? kOpaque : 0); }

void EventArgs::add_category(Domain& domain, uint32_t number) noexcept {
  const std::string_view category = category_name(domain, number);
  if (category.empty())
    add("category", KYMO_UINT, number);
  else
    add_text("category", category);
}

// The payloads may also contain the message, the colour and the category. Without any message, the name of the schema
// is the name of the event.
void EventArgs::add_extended(Domain& domain, const EventAttributes& event) noexcept {
  const auto* const payloads = static_cast<const PayloadData*>(event.payload.as_pointer);
  if (payloads == nullptr || event.payload_count <= 0) return;
  const size_t count = std::min<size_t>(static_cast<size_t>(event.payload_count), kMaxPayloads);
  decoded_.emplace(domain, std::span(payloads, count));
  if (decoded_->colour() != 0) set_colour(decoded_->colour());
  if (decoded_->category() != 0 && event.category == 0) add_category(domain, decoded_->category());
  for (const kymo_arg& arg : decoded_->args())
    if (count_ < record::kMaxStoredArgs) args_[count_++] = arg;
  const bool has_message = event.message_type != kNoMessage;
  std::string_view name = decoded_->message();
  if (name.empty() && !has_message) name = decoded_->schema_name();
  if (!name.empty()) message_.set_view(name);
}

void EventArgs::add(const char* name, kymo_type type, uint64_t bits) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name, {}, 0, static_cast<uint32_t>(type)};
  made.value.as_uint = bits;
}

void EventArgs::add_text(const char* name, std::string_view text) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name, {}, static_cast<uint32_t>(text.size()), KYMO_STRING};
  made.value.as_text = text.data();
}

void EventArgs::add_value(int32_t type, const PayloadValue& value) noexcept {
  switch (type) {
    case kUint64:
      return add("value", KYMO_UINT, value.as_uint64);
    case kUint32:
      return add("value", KYMO_UINT, value.as_uint32);
    case kInt64:
      return add("value", KYMO_INT, value.as_uint64);
    case kInt32:
      return add("value", KYMO_INT, static_cast<uint64_t>(int64_t{value.as_int32}));
    case kDouble:
      return add("value", KYMO_DOUBLE, std::bit_cast<uint64_t>(value.as_double));
    case kFloat:
      return add("value", KYMO_DOUBLE, std::bit_cast<uint64_t>(double{value.as_float}));
    default:
      return;
  }
}

namespace {

// Stores the event. Returns the word of its record if that is all of it: an event with only a class. 0: it has more, or
// may be an iteration, which an agent may wait for: such events come here each time.
uint32_t store(Kind kind, uint16_t stack, const kymo_label& label, const kymo_arg* args, uint32_t count,
               uint64_t handle) noexcept {
  const bool may_be_iteration = base::may_begin_iteration({label.name, label.name_length});
  if (const auto saw = record::range_watcher(); saw != nullptr && may_be_iteration && kind != Kind::Instant)
    saw(&label);
  const record::FoundClass found = record::class_for(label, args, count);
  record::set_interface(found.id, record::Interface::Nvtx);
  const uint32_t word = kind == Kind::Begin ? record::on_stack(found.id, stack) : found.id;
  if (found.name_inline || count != 0) {
    record::store_event(kind, word, found.name_inline ? label.name : nullptr, label.name_length, args, count,
                        kind == Kind::AsyncBegin ? &handle : nullptr);
    return 0;
  }
  if (kind == Kind::AsyncBegin)
    record::store_number(kind, word, handle);
  else
    record::store_cell(kind, word);
  return may_be_iteration ? 0 : word;
}

kymo_label label_of(const Domain& domain, std::string_view text, uint32_t colour = 0) noexcept {
  return {text.data(), domain.name, static_cast<uint32_t>(text.size()), domain.name_length, colour};
}

uint32_t store_text(Kind kind, const Domain& domain, std::string_view text, uint64_t handle,
                    uint32_t colour = 0) noexcept {
  if (domain.stack == 0) return 0;
  const NumberedText numbered(text);
  if (numbered.count() != 0)
    return store(kind, domain.stack, label_of(domain, numbered.name(), colour), numbered.args(), numbered.count(),
                 handle);
  return store(kind, domain.stack, label_of(domain, text, colour), nullptr, 0, handle);
}

uint32_t store_attributes(Kind kind, Domain& domain, const EventAttributes* event, uint64_t handle) noexcept {
  if (domain.stack == 0) return 0;
  EventArgs args(domain, event);
  if (args.count() == 0) {
    const kymo_label& label = args.label();
    return store_text(kind, domain, {label.name, label.name_length}, handle, label.colour);
  }
  return store(kind, domain.stack, args.label(), args.data(), args.count(), handle);
}

// Remembers the word of a message, for hot_path.h. Another message in the same place is forgotten. `text` null: a
// registered string.
void remember(const Domain& domain, const void* message, const char* text, uint32_t colour, uint32_t word) noexcept {
  ThreadState* const state = this_state;
  if (state == nullptr || word == 0 || message == nullptr) return;
  const size_t bytes = text != nullptr ? strnlen(text, sizeof RecentMessage::text) + 1 : 0;
  if (bytes > sizeof RecentMessage::text) return;
  RecentMessage& recent = recent_place(*state, message);
  recent.message = nullptr;
  record::order_for_signals();
  recent.domain = &domain;
  recent.colour = colour;
  recent.word = word;
  recent.words = static_cast<uint32_t>((bytes + 7) / 8);
  memset(recent.text, 0, sizeof recent.text);
  if (text != nullptr) memcpy(recent.text, text, bytes);
  const size_t last = bytes % 8;
  recent.last_mask = last == 0 ? ~uint64_t{0} : (uint64_t{1} << (8 * last)) - 1;
  record::order_for_signals();
  recent.message = message;
}

void remember(const Domain& domain, const EventAttributes& event, uint32_t word) noexcept {
  if ((event.category | static_cast<uint32_t>(event.payload_type)) != 0) return;
  const uint32_t colour = event.colour_type == kArgb ? event.colour : 0;
  if (event.message_type == kAscii) remember(domain, event.message.ascii, event.message.ascii, colour, word);
  RegisteredString* const string = event.message_type == kRegistered ? event.message.registered : nullptr;
  if (string == nullptr) return;
  if (colour == 0 && string->domain == &domain)
    string->word.store(word, std::memory_order_relaxed);
  else
    remember(domain, string, nullptr, colour, word);
}

}  // namespace

void idle_call() noexcept {
  if (!record::recording() && record::range_watcher() == nullptr) become_dormant();
}

namespace {

// A range begins while nothing records: an agent may wait for an iteration.
void begins_unrecorded(const Domain& domain, std::string_view text) noexcept {
  const auto saw = record::range_watcher();
  if (saw == nullptr) return idle_call();
  const kymo_label label = label_of(domain, text);
  saw(&label);
}
void begins_unrecorded(Domain& domain, const EventAttributes* event) noexcept {
  const auto saw = record::range_watcher();
  if (saw == nullptr) return idle_call();
  saw(&EventArgs(domain, event).label());
}

}  // namespace

// ---- Nested ranges -------------------------------------------------------------------------------------------------

int push_text(Domain& domain, const char* text) noexcept { return push_text_quickly(domain, text); }
int push_event(Domain& domain, const EventAttributes* event) noexcept { return push_event_quickly(domain, event); }
int pop(Domain& domain) noexcept { return pop_quickly(domain); }

int push_message(Domain& domain, const EventAttributes* event) noexcept {
  ThreadState* const state = current_state();
  if (state == nullptr || event == nullptr || event->size < sizeof *event) return push_event_slowly(domain, event);
  const int depth = state->depth(domain.index)++;
  if ((event->category | static_cast<uint32_t>(event->payload_type)) == 0) {
    const uint32_t colour = event->colour_type == kArgb ? event->colour : 0;
    uint32_t word = 0;
    if (event->message_type == kAscii)
      word = word_of_text(*state, domain, event->message.ascii, colour);
    else if (event->message_type == kRegistered)
      word = word_of_string(*state, domain, event->message.registered, colour);
    if (word != 0 && try_cell(Kind::Begin, word)) return depth;
  }
  return store_pushed_event(domain, event, depth);
}

int push_text_slowly(Domain& domain, const char* text) noexcept {
  ThreadState* const state = renew_state();
  if (state == nullptr) return kNoTracking;
  return store_pushed_text(domain, text, state->depth(domain.index)++);
}

int push_event_slowly(Domain& domain, const EventAttributes* event) noexcept {
  ThreadState* const state = renew_state();
  if (state == nullptr) return kNoTracking;
  return store_pushed_event(domain, event, state->depth(domain.index)++);
}

int store_pushed_text(Domain& domain, const char* text, int depth) noexcept {
  const Text message(text);
  if (!record::recording()) {
    begins_unrecorded(domain, message.view());
    return depth;
  }
  const uint32_t word = store_text(Kind::Begin, domain, message.view(), 0);
  if (text != nullptr) remember(domain, text, text, 0, word);
  return depth;
}

int store_pushed_event(Domain& domain, const EventAttributes* event, int depth) noexcept {
  if (!record::recording()) {
    begins_unrecorded(domain, event);
    return depth;
  }
  const uint32_t word = store_attributes(Kind::Begin, domain, event, 0);
  if (event != nullptr && event->size >= sizeof *event) remember(domain, *event, word);
  return depth;
}

int pop_slowly(Domain& domain) noexcept {
  ThreadState* const state = renew_state();
  if (state == nullptr) return kNoTracking;
  if (state->depth(domain.index) != 0) return store_popped(domain, --state->depth(domain.index));
  if (!record::recording()) {
    idle_call();
  } else if (has_every_call()) {
    if (record::Slot* slot = record::enter_ring()) record::count_loss(*slot, record::kLossUnmatchedPop, 1);
  }
  return -1;
}

int store_popped(Domain& domain, int depth) noexcept {
  if (!record::recording())
    idle_call();
  else if (domain.stack != 0)
    end_on_stack(domain.stack);
  return depth;
}

void begin_on_stack(Domain& domain, std::string_view text, uint16_t stack) noexcept {
  if (domain.stack != 0) store(Kind::Begin, stack, label_of(domain, text), nullptr, 0, 0);
}

void end_on_stack(uint16_t stack) noexcept { record::store_cell(Kind::End, record::on_stack(0, stack)); }

// ---- Other events --------------------------------------------------------------------------------------------------

void store_with_args(Kind kind, Domain& domain, std::string_view name, const kymo_arg* args, uint32_t count,
                     uint64_t handle, uint32_t colour) noexcept {
  if (domain.stack != 0) store(kind, domain.stack, label_of(domain, name, colour), args, count, handle);
}

uint64_t start_range(Domain& domain, std::string_view text) noexcept {
  const bool recorded = record::recording() && domain.stack != 0;
  const uint64_t handle = record::next_handle(recorded);
  if (recorded)
    store_text(Kind::AsyncBegin, domain, text, handle);
  else
    begins_unrecorded(domain, text);
  return handle;
}

uint64_t start_range(Domain& domain, const EventAttributes* event) noexcept {
  const bool recorded = record::recording() && domain.stack != 0;
  const uint64_t handle = record::next_handle(recorded);
  if (recorded)
    store_attributes(Kind::AsyncBegin, domain, event, handle);
  else
    begins_unrecorded(domain, event);
  return handle;
}

void end_range(uint64_t handle) noexcept {
  if (!record::recording()) return idle_call();
  const record::Process* const shared = record::process();
  if (shared == nullptr) return;
  const record::HandleOrigin origin = record::origin_of_handle(*shared, handle);
  if (origin == record::HandleOrigin::ThisRecording) return record::store_number(Kind::AsyncEnd, 0, handle);
  // A range that was started while the adapter was dormant has the id 0.
  if (origin != record::HandleOrigin::Unknown || !has_every_call()) return;
  if (record::Slot* slot = record::enter_ring()) record::count_loss(*slot, record::kLossUnknownRange, 1);
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
