// Closes every descriptor it did not open, as daemons do, and goes on with files of its own: closes_files OWN.
//
// Makes 1000 "early" ranges before, and 1000 "late" ones after, on a thread that begins then.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"

namespace {

void make(const char* name) {
  for (int i = 0; i < 1000; ++i) const kymo::Range range{name};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  make("early");
  for (int fd = 3; fd < 256; ++fd) close(fd);
  for (int i = 0; i < 16; ++i) {
    const int own = open((argv[1] + std::to_string(i)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (own < 0 || write(own, "mine\n", 5) != 5) return 1;
  }
  std::thread(make, "late").join();
  return 0;
}
