// Closes every descriptor that it did not open, as daemons do, and continues with its own files: closes_files OWN
// TRACE.
//
// Makes 1000 "early" ranges before. After, it makes 1000 "late" ones on a thread that starts then, and 1000 "child"
// ones in a forked child. Its own files are OWN0, OWN1, …: each gets a line before recording ends and one after.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"
#include "kymo/session.h"

namespace {

std::vector<int> own_files;

void make(const char* name) {
  for (int i = 0; i < 1000; ++i) const kymo::Range range{name};
}

bool write_line() {
  for (const int own : own_files)
    if (write(own, "mine\n", 5) != 5) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  kymo::Session session(argv[2]);
  make("early");
  for (int fd = 3; fd < 256; ++fd) close(fd);
  for (int i = 0; i < 16; ++i)
    own_files.push_back(open((argv[1] + std::to_string(i)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!write_line()) return 3;
  std::thread(make, "late").join();

  const pid_t child = fork();
  if (child == 0) {
    make("child");
    for (const int own : own_files)
      if (fcntl(own, F_GETFD) < 0) _exit(1);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return 4;
  session.close();
  return write_line() ? 0 : 5;
}
