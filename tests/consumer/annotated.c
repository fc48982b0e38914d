/* Somebody's C program that only annotates: KYMO_TRACE in its environment records it. */
#include <stddef.h>

#include "kymo/kymo.h"

/* Programs that were linked with 1.0 have these layouts and numbers in them, so no later 1.x changes them
 * (docs/stability.md). */
#define AT(type, member, offset) _Static_assert(offsetof(type, member) == offset, #type "." #member)
AT(kymo_label, name, 0);
AT(kymo_label, category, 8);
AT(kymo_label, name_length, 16);
AT(kymo_label, category_length, 20);
AT(kymo_label, colour, 24);
AT(kymo_arg, name, 0);
AT(kymo_arg, value, 8);
AT(kymo_arg, length, 16);
AT(kymo_arg, type, 20);
AT(kymo_site, label, 0);
AT(kymo_site, class_id, 32);
_Static_assert(sizeof(kymo_label) == 32 && sizeof(kymo_arg) == 24 && sizeof(kymo_site) == 40, "sizes");
_Static_assert(KYMO_INT == 1 && KYMO_UINT == 2 && KYMO_DOUBLE == 3 && KYMO_STRING == 4 && KYMO_BYTES == 5 &&
                   KYMO_POINTER == 6 && KYMO_BOOL == 7,
               "kymo_type");
_Static_assert(KYMO_RANGE_BEGIN == 1 && KYMO_INSTANT == 3 && KYMO_COUNTER == 4 && KYMO_RANGE_START == 5 &&
                   KYMO_FLOW_BEGIN == 7 && KYMO_FLOW_STEP == 8 && KYMO_FLOW_END == 9,
               "kymo_kind");
_Static_assert(KYMO_MODE_RECORDING == 1 && KYMO_MODE_SINKS == 2 && KYMO_MODE_WATCHED == 4, "kymo_mode_bit");

int main(void) {
  kymo_range_push("work");
  kymo_range_pop();
  return kymo_is_recording() ? 0 : 1;
}
