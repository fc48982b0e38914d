#include "record/stacks.h"

#include "record/sinks.h"
#include "record/store.h"

namespace kymo::record {

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
