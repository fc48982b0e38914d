// Is started without standard streams and still writes to them, as programs do.
#include <unistd.h>

#include "kymo/annotate.h"

int main() {
  for (int i = 0; i < 1000; ++i) {
    KYMO_RANGE("work");
    for (int fd = 0; fd < 3; ++fd) (void)!write(fd, "chatter\n", 8);
  }
  return 0;
}
