// The C functions of kymo/queue.h that concern the calling thread.
#include "kymo/queue.h"
#include "record/clock.h"
#include "record/numbers.h"
#include "record/process.h"
#include "record/store.h"

namespace kymo::record {
namespace {

void store_memory(Kind kind, const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t address) noexcept {
  if (!recording()) return;
  const FoundClass found = class_for(label, args, count);
  store_event(kind, found.id, found.name_inline ? label.name : nullptr, label.name_length, args, count, &address);
}

}  // namespace
}  // namespace kymo::record

using namespace kymo::record;

extern "C" {

uint64_t kymo_ticks(void) {
  if (has_counter()) return counter();
  process();  // the first call of the process asks the CPU for its features
  return ticks();
}

uint64_t kymo_next_correlation(void) { return next_number(); }

uint64_t kymo_next_handle(void) { return next_handle(recording()); }

void kymo_span(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t start_ticks,
               uint64_t correlation) {
  if (!recording() || start_ticks == 0) return;
  const FoundClass found = class_for(*label, args, count);
  store_span(found.id, found.name_inline ? label->name : nullptr, label->name_length, args, count, start_ticks,
             correlation);
}

void kymo_span_at(kymo_site* site, const kymo_arg* args, uint32_t count, uint64_t start_ticks, uint64_t correlation) {
  if (!recording() || start_ticks == 0) return;
  const FoundClass found = class_at(*site, args, count);
  store_span(found.id, found.name_inline ? site->label.name : nullptr, site->label.name_length, args, count,
             start_ticks, correlation);
}

void kymo_allocation(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address) {
  store_memory(Kind::Allocation, *label, args, count, address);
}

void kymo_free(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address) {
  store_memory(Kind::Free, *label, args, count, address);
}

void kymo_watch_devices(int on) {
  if (Process* shared = process()) set_mode(*shared, kWatchBit, on != 0);
}

}  // extern "C"
