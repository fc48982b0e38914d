// A program that uses an installed Kymo: records into the file in its argument, and catches an error of the library.
#include <cstdio>
#include <string>

#include "kymo/annotate.h"
#include "kymo/error.h"
#include "kymo/session.h"

namespace {

void work() {
  KYMO_RANGE("work");
  kymo::mark("half way");
}

bool errors_cross_the_library() {
  try {
    kymo::Session session("/there/is/no/such/folder/x.kymo");
  } catch (const kymo::Error&) {
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer trace.kymo\n");
    return 2;
  }
  if (!errors_cross_the_library()) {
    std::fprintf(stderr, "consumer: no kymo::Error for a folder that is not there\n");
    return 1;
  }
  kymo::Session session(argv[1]);
  if (!kymo::is_recording()) return 1;
  kymo::range_push("outer");
  work();
  kymo::range_pop();
  session.close();
  return 0;
}
