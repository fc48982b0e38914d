#include "unwind/registers.h"

#include "unwind/rule_table.h"
#include "unwind/step.h"

namespace kymo::unwind {

KYMO_READS_STACKS Registers caller_of(const Registers& here, uintptr_t return_address) noexcept {
  const Rule& rule = rule_table.at(here.pc + 1);
  if (rule.kind != Rule::Kind::Table || (rule.flags & Rule::kCfaLoaded) != 0) return {return_address};
  const uintptr_t cfa = plain_cfa(rule, here);
  const bool saved = (rule.flags & Rule::kFramePointerSaved) != 0;
  return {return_address, cfa, saved ? word_in_stack(frame_pointer_slot(rule, here, cfa)) : here.fp};
}

}  // namespace kymo::unwind
