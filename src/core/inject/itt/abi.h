// The part of Intel's ITT that the collector uses: its structures on 64-bit systems.
//
// The library in a program that reports by ITT has a stub of its own. The stub makes domains and strings, and keeps
// them.
#pragma once

#include <cstdint>

namespace kymo::inject::itt {

struct Domain {
  volatile int flags;  // 0: its events are turned off
  const char* name;
  const void* wide_name;
  int reserved;
  void* reserved_pointer;
  Domain* next;
};

struct String {
  const char* text;  // may be null: then there is only a wide text
  const void* wide_text;
  int reserved;
  void* reserved_pointer;
  String* next;
};

struct Id {
  unsigned long long words[3];
};

}  // namespace kymo::inject::itt
