/* A C program that uses everything in kymo/kymo.h. */
#include <string.h>

#include "kymo/kymo.h"

static kymo_site site = {{"at a site", "c", 9, 1, 0xff00ff00}, 0};

int main(void) {
  kymo_set_thread_name("plain C");
  if (kymo_range_push("outer") != 0) return 1;
  if (kymo_range_push("inner") != 1) return 1;
  kymo_mark("instant");
  if (kymo_range_pop() != 1) return 1;
  kymo_counter_int("whole", -3);
  kymo_counter_double("real", 2.5);
  kymo_flow_begin("flow", 7);
  kymo_flow_step("flow", 7);
  kymo_flow_end("flow", 7);
  if (kymo_range_pop() != 0) return 1;
  if (kymo_range_pop() != -1) return 1;

  uint64_t handle = kymo_range_start("started");
  if (handle == 0) return 1;
  kymo_range_end(handle);

  for (int i = 0; i < 10; ++i) {
    kymo_arg arg = {"turn", {.as_int = i}, 0, KYMO_INT};
    if (kymo_is_recording()) kymo_begin(&site);
    kymo_label label = {"labelled {}", "c", 11, 1, 0};
    kymo_arg text = {NULL, {.as_text = "text"}, 4, KYMO_STRING};
    kymo_arg both[2] = {arg, text};
    kymo_record(KYMO_INSTANT, &label, both, 2, 0);
    if (kymo_is_recording()) kymo_end();
  }
  return 0;
}
