// A shared object that brings its own copy of Kymo along, or uses the shared one, and says what happens in it.
#include "kymo/annotate.h"

extern "C" {

[[gnu::visibility("default")]] int plugin_push(const char* name) { return kymo::range_push(name); }
[[gnu::visibility("default")]] int plugin_pop() { return kymo::range_pop(); }
[[gnu::visibility("default")]] int plugin_is_recording() { return kymo_is_recording(); }

// A call site that goes away when this object does.
[[gnu::visibility("default")]] void plugin_call(void (*inside)()) {
  KYMO_RANGE("a site in a plug-in");
  if (inside != nullptr) inside();
}
}
