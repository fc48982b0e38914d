#include "heap/heap_mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

namespace kymo::heap {

constinit std::atomic<uint32_t> heap_recorded{1};
constinit std::atomic<uint64_t> heap_sample_bytes{0};

bool parse_heap_mode(const char* text, HeapMode& mode) noexcept {
  constexpr char kSample[] = "sample:";
  constexpr uint64_t kMax = uint64_t{1} << 40;
  if (strcasecmp(text, "all") == 0 || strcasecmp(text, "off") == 0) {
    mode = {0, strcasecmp(text, "all") == 0};
    return true;
  }
  if (strncasecmp(text, kSample, sizeof kSample - 1) != 0) return false;
  text += sizeof kSample - 1;
  if (*text < '0' || *text > '9') return false;
  uint64_t bytes = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    bytes = bytes * 10 + static_cast<uint64_t>(*text - '0');
    if (bytes > kMax) return false;
  }
  unsigned shift = 0;
  if (*text != '\0') {
    if (*text == 'k' || *text == 'K') shift = 10;
    if (*text == 'm' || *text == 'M') shift = 20;
    if (*text == 'g' || *text == 'G') shift = 30;
    if (shift == 0) return false;
    ++text;
    if (strcasecmp(text, "ib") == 0 || strcasecmp(text, "b") == 0) text += *text == 'i' || *text == 'I' ? 2 : 1;
  }
  if (*text != '\0' || bytes == 0 || bytes > kMax >> shift) return false;
  mode = {bytes << shift, true};
  return true;
}

void read_heap_mode() noexcept {
  HeapMode mode;
  const char* text = secure_getenv("KYMO_MALLOC");
  if (text != nullptr && *text != '\0' && !parse_heap_mode(text, mode)) {
    fprintf(stderr,
            "kymo: KYMO_MALLOC=%.80s: want all, off or sample:BYTES (as in sample:512k); not recording the heap\n",
            text);
    mode.on = false;
  }
  heap_sample_bytes.store(mode.sample_bytes, std::memory_order_relaxed);
  heap_recorded.store(mode.on ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace kymo::heap
