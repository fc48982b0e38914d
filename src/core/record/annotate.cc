
#include "record/annotate.h"

#include <string.h>

#include "record/layout.h"
#include "record/numbers.h"
#include "record/process.h"
#include "record/registry.h"
#include "record/sinks.h"
#include "record/store.h"

namespace kymo::record {
namespace {

kymo_label plain(const char* name) noexcept {
  return {name, nullptr, name != nullptr ? static_cast<uint32_t>(strlen(name)) : 0, 0, 0};
}

__attribute__((noinline)) int store_any(Kind kind, const kymo_label& label, const kymo_arg* args, uint32_t count,
                                        const uint64_t* id, int result) noexcept {
  const FoundClass found = class_for(label, args, count);
  if (!found.name_inline && count == 0 && id == nullptr) return store_cell(kind, found.id, result);
  store_event(kind, found.id, found.name_inline ? label.name : nullptr, label.name_length, args, count, id);
  return result;
}

// Returns `result` unchanged, as store_cell does. `slot`: as for try_store.
__attribute__((always_inline)) inline int store(Slot* slot, Kind kind, const kymo_label& label, const kymo_arg* args,
                                                uint32_t count, const uint64_t* id, int result = 0) noexcept {
  const uint32_t class_id = count == 0 && id == nullptr ? recent_class(slot, label) : 0;
  if (__builtin_expect(class_id == 0, 0)) return store_any(kind, label, args, count, id, result);
  return store_cell(slot, kind, class_id, result);
}
int store(Kind kind, const kymo_label& label, const kymo_arg* args, uint32_t count, const uint64_t* id,
          int result = 0) noexcept {
  return store(this_slot, kind, label, args, count, id, result);
}

__attribute__((noinline)) void begin_at_new_site(kymo_site& site, const kymo_arg* args, uint32_t count) noexcept {
  const FoundClass found = class_at(site, args, count);
  if (!found.name_inline && count == 0) {
    store_cell(Kind::Begin, found.id);
    return;
  }
  store_event(Kind::Begin, found.id, found.name_inline ? site.label.name : nullptr, site.label.name_length, args, count,
              nullptr);
}

// A signal handler may have moved the thread into the segment after we read its slot and before we counted.
__attribute__((always_inline)) inline void follow_depth(const Slot* slot) noexcept {
  order_for_signals();
  if (__builtin_expect(this_slot != slot, 0) && this_slot != nullptr) this_slot->depth = slot->depth;
}

// If this is the thread's first call, the thread gets a slot in the segment, so that the loss has a thread.
void lose(uint32_t cause) noexcept {
  if (Slot* slot = enter_ring()) count_loss(*slot, cause, 1);
}

__attribute__((noinline)) int first_push(const kymo_label* label, const kymo_arg* args, uint32_t count) noexcept {
  return find_slot() != nullptr ? kymo_range_push_label(label, args, count) : 0;
}

// Also called for the first call of a thread in this copy of the library.
__attribute__((noinline)) int unmatched_pop() noexcept {
  Slot* slot = find_slot();
  if (slot != nullptr && slot->depth != 0) return kymo_range_pop();
  if (slot != nullptr && recording()) lose(kLossUnmatchedPop);
  return -1;
}

bool site_has_class(uint32_t class_id) noexcept { return class_id - 1 < kInlineSite - 1; }

// ---- Annotations with sinks. Without sinks, only one bit is tested. The time of a range excludes the time of the
// sinks.

__attribute__((noinline)) void begin_with_sinks(kymo_site& site, const kymo_arg* args, uint32_t count,
                                                uint32_t receivers) noexcept {
  if ((receivers & kSinkBit) != 0) send_scope(site.label, args, count);
  if ((receivers & kRecordingBit) == 0) return;
  if (count == 0) return kymo_begin_heard(&site, kRecordingBit);
  kymo_begin_args_heard(&site, args, count, kRecordingBit);
}

__attribute__((noinline)) void begin_label_with_sinks(const kymo_label& label, const kymo_arg* args, uint32_t count,
                                                      uint32_t receivers) noexcept {
  if ((receivers & kSinkBit) != 0) send_scope(label, args, count);
  if ((receivers & kRecordingBit) != 0) store(Kind::Begin, label, args, count, nullptr);
}

__attribute__((noinline)) void end_with_sinks(uint32_t receivers) noexcept {
  if ((receivers & kRecordingBit) != 0 && recording()) store_cell(Kind::End, 0);
  if ((receivers & kSinkBit) != 0) send_scope_end();
}

__attribute__((noinline)) int push_with_sinks(const kymo_label& label, const kymo_arg* args, uint32_t count,
                                              int depth) noexcept {
  send_push(label, args, count, depth);
  return recording() ? store(Kind::Begin, label, args, count, nullptr, depth) : depth;
}

__attribute__((noinline)) int pop_with_sinks(int depth) noexcept {
  if (recording()) store_cell(Kind::End, 0);
  send_pop(depth);
  return depth;
}

__attribute__((noinline)) uint64_t start_with_sinks(const kymo_label& label, const kymo_arg* args, uint32_t count,
                                                    bool recorded) noexcept {
  const uint64_t handle = next_handle(recorded, sinks_for_start());
  send_start(label, args, count, handle);
  if (recorded) store(Kind::AsyncBegin, label, args, count, &handle);
  return handle;
}

__attribute__((noinline)) void record_with_sinks(enum kymo_kind kind, const kymo_label& label, const kymo_arg* args,
                                                 uint32_t count, uint64_t id, uint32_t receivers) noexcept {
  if (kind == KYMO_RANGE_BEGIN) return begin_label_with_sinks(label, args, count, receivers);
  if ((receivers & kRecordingBit) != 0)
    store(static_cast<Kind>(kind), label, args, count, kind >= KYMO_RANGE_START ? &id : nullptr);
  if (kind == KYMO_INSTANT) send_mark(label, args, count);
  if (kind == KYMO_COUNTER) send_counter(label, args, count);
}

}  // namespace

int push_unheard() noexcept {
  Slot* slot = own_slot();
  if (__builtin_expect(slot == nullptr, 0)) return 0;
  const int depth = slot->depth++;
  follow_depth(slot);
  return depth;
}

void begin_on_stack(const kymo_label& label, const kymo_arg* args, uint32_t count, uint16_t stack,
                    uint32_t receivers) noexcept {
  if ((receivers & kSinkBit) != 0) send_scope(label, args, count);
  if ((receivers & kRecordingBit) == 0) return;
  const FoundClass found = class_for(label, args, count);
  const uint32_t word = on_stack(found.id, stack);
  if (!found.name_inline && count == 0) {
    store_cell(Kind::Begin, word);
    return;
  }
  store_event(Kind::Begin, word, found.name_inline ? label.name : nullptr, label.name_length, args, count, nullptr);
}

void end_on_stack(uint16_t stack, uint32_t receivers) noexcept {
  if ((receivers & kRecordingBit) != 0 && recording()) store_cell(Kind::End, on_stack(0, stack));
  if ((receivers & kSinkBit) != 0) send_scope_end();
}

void begin_site_on_stack(kymo_site& site, uint16_t stack) noexcept {
  if (!recording()) return;
  const FoundClass found = class_at(site, nullptr, 0);
  if (__builtin_expect(!found.name_inline, 1)) {
    store_cell(Kind::Begin, on_stack(found.id, stack));
    return;
  }
  store_event(Kind::Begin, on_stack(found.id, stack), site.label.name, site.label.name_length, nullptr, 0, nullptr);
}

void end_site_on_stack(uint16_t stack) noexcept {
  if (recording()) store_cell(Kind::End, on_stack(0, stack));
}

}  // namespace kymo::record

using namespace kymo::record;

// ---- The C functions of kymo/kymo.h --------------------------------------------------------------------------------

extern "C" {

KYMO_AT_CACHE_LINE void kymo_begin_heard(kymo_site* site, uint32_t receivers) {
  if (__builtin_expect(receivers != kRecordingBit, 0)) return begin_with_sinks(*site, nullptr, 0, receivers);
  const uint32_t class_id = site->class_id.load(std::memory_order_relaxed);
  if (__builtin_expect(!site_has_class(class_id), 0)) return begin_at_new_site(*site, nullptr, 0);
  store_cell(Kind::Begin, class_id);
}

KYMO_AT_CACHE_LINE void kymo_begin_args_heard(kymo_site* site, const kymo_arg* args, uint32_t count,
                                              uint32_t receivers) {
  if (__builtin_expect(receivers != kRecordingBit, 0)) return begin_with_sinks(*site, args, count, receivers);
  const uint32_t class_id = site->class_id.load(std::memory_order_relaxed);
  if (__builtin_expect(!site_has_class(class_id), 0)) return begin_at_new_site(*site, args, count);
  if (count == 1 && args->type != KYMO_STRING) return store_number(Kind::Begin, class_id, args->value.as_uint);
  store_event(Kind::Begin, class_id, nullptr, 0, args, count, nullptr);
}

KYMO_AT_CACHE_LINE void kymo_begin_label_heard(const kymo_label* label, const kymo_arg* args, uint32_t count,
                                               uint32_t receivers) {
  if (__builtin_expect(receivers != kRecordingBit, 0)) return begin_label_with_sinks(*label, args, count, receivers);
  store(this_slot, Kind::Begin, *label, args, count, nullptr);
}

KYMO_AT_CACHE_LINE void kymo_end_heard(uint32_t receivers) {
  if (__builtin_expect(receivers != kRecordingBit, 0)) return end_with_sinks(receivers);
  if (recording()) store_cell(Kind::End, 0);  // not if the recording in which the range began has ended
}

void kymo_begin(kymo_site* site) { kymo_begin_heard(site, receiver_bits()); }
void kymo_begin_args(kymo_site* site, const kymo_arg* args, uint32_t count) {
  kymo_begin_args_heard(site, args, count, receiver_bits());
}
void kymo_end(void) { kymo_end_heard(receiver_bits()); }

void kymo_record(enum kymo_kind kind, const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t id) {
  const uint32_t receivers = receiver_bits();
  if (receivers == 0) return;
  if (__builtin_expect(receivers != kRecordingBit, 0))
    return record_with_sinks(kind, *label, args, count, id, receivers);
  store(static_cast<Kind>(kind), *label, args, count, kind >= KYMO_RANGE_START ? &id : nullptr);
}

KYMO_AT_CACHE_LINE int kymo_range_push_label(const kymo_label* label, const kymo_arg* args, uint32_t count) {
  Slot* slot = this_slot;
  if (__builtin_expect(slot == nullptr, 0)) return first_push(label, args, count);
  const int depth = slot->depth++;
  follow_depth(slot);
  const uint32_t receivers = receiver_bits();
  if (receivers == 0) return depth;
  if (__builtin_expect(receivers != kRecordingBit, 0)) return push_with_sinks(*label, args, count, depth);
  return store(slot, Kind::Begin, *label, args, count, nullptr, depth);
}

int kymo_range_push(const char* name) {
  const kymo_label label = plain(name);
  return kymo_range_push_label(&label, nullptr, 0);
}

KYMO_AT_CACHE_LINE int kymo_range_pop(void) {
  Slot* slot = this_slot;
  if (__builtin_expect(slot == nullptr || slot->depth == 0, 0)) return unmatched_pop();
  const int depth = --slot->depth;
  follow_depth(slot);
  const uint32_t receivers = receiver_bits();
  if (receivers == 0) return depth;
  if (__builtin_expect(receivers != kRecordingBit, 0)) return pop_with_sinks(depth);
  return store_cell(slot, Kind::End, 0, depth);
}

uint64_t kymo_range_start_label(const kymo_label* label, const kymo_arg* args, uint32_t count) {
  const uint32_t receivers = receiver_bits();
  const bool recorded = (receivers & kRecordingBit) != 0;
  if (__builtin_expect((receivers & kSinkBit) != 0, 0)) return start_with_sinks(*label, args, count, recorded);
  const uint64_t handle = next_handle(recorded);
  if (recorded) store(Kind::AsyncBegin, *label, args, count, &handle);
  return handle;
}

uint64_t kymo_range_start(const char* name) {
  const kymo_label label = plain(name);
  return kymo_range_start_label(&label, nullptr, 0);
}

void kymo_range_end(uint64_t handle) {
  if (__builtin_expect((receiver_bits() & kSinkBit) != 0, 0)) send_end(handle);
  if (!recording()) return;
  Process* shared = process();
  if (shared == nullptr) return;
  const HandleOrigin origin = origin_of_handle(*shared, handle);
  if (origin == HandleOrigin::NotThisRecording) return;
  if (origin == HandleOrigin::Unknown) return lose(kLossUnknownRange);
  store_event(Kind::AsyncEnd, 0, nullptr, 0, nullptr, 0, &handle);
}

void kymo_mark(const char* name) {
  if (receiver_bits() == 0) return;
  const kymo_label label = plain(name);
  kymo_record(KYMO_INSTANT, &label, nullptr, 0, 0);
}

void kymo_counter_int(const char* name, int64_t value) {
  if (receiver_bits() == 0) return;
  const kymo_label label = plain(name);
  kymo_arg arg{"value", {}, 0, KYMO_INT};
  arg.value.as_int = value;
  kymo_record(KYMO_COUNTER, &label, &arg, 1, 0);
}

void kymo_counter_double(const char* name, double value) {
  if (receiver_bits() == 0) return;
  const kymo_label label = plain(name);
  kymo_arg arg{"value", {}, 0, KYMO_DOUBLE};
  arg.value.as_double = value;
  kymo_record(KYMO_COUNTER, &label, &arg, 1, 0);
}

void kymo_flow_begin(const char* name, uint64_t flow) {
  if (recording()) store(Kind::FlowBegin, plain(name), nullptr, 0, &flow);
}
void kymo_flow_step(const char* name, uint64_t flow) {
  if (recording()) store(Kind::FlowStep, plain(name), nullptr, 0, &flow);
}
void kymo_flow_end(const char* name, uint64_t flow) {
  if (recording()) store(Kind::FlowEnd, plain(name), nullptr, 0, &flow);
}

void kymo_set_thread_name(const char* name) {
  Slot* slot = own_slot();
  if (slot == nullptr || name == nullptr) return;
  const size_t length = strnlen(name, sizeof slot->name - 1);
  memset(slot->name, 0, sizeof slot->name);
  memcpy(slot->name, name, length);
  slot->name_length = static_cast<uint32_t>(length);
  // The thread is already in the segment: record the name again. Otherwise the thread's first record contains it.
  if (slot->index != kPrivateSlot && recording()) {
    kymo_arg text{nullptr, {}, static_cast<uint32_t>(length), KYMO_STRING};
    text.value.as_text = slot->name;
    store_event(Kind::ThreadName, 0, nullptr, 0, &text, 1, nullptr);
  }
}

int kymo_is_recording(void) { return recording() ? 1 : 0; }

}  // extern "C"
