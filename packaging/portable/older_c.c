// libkymo_c.so: functions that the C++ library beside it asks of a C library newer than 2.34, for machines that have an older
// one: this and find_object.c. Where the machine's C library has them, the loader finds them there first.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// For std::random_device.
uint32_t arc4random(void) {
  uint32_t value;
  ssize_t got;
  do got = getrandom(&value, sizeof value, 0);  // so few bytes come at once
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof value) abort();  // as glibc's own
  return value;
}
