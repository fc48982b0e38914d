/* Somebody's C program that only annotates: KYMO_TRACE in its environment records it. */
#include "kymo/kymo.h"

int main(void) {
  kymo_range_push("work");
  kymo_range_pop();
  return kymo_is_recording() ? 0 : 1;
}
