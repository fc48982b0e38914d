// Opens ranges that do not end normally: open HOW.
//
//   many N      N ranges on one thread that never end, while another thread records 1000 that do
//   texts N     the same with a kilobyte of text each
//   pops N      N nested ranges that all end
//   hang        prints "stuck" inside two ranges, and waits to be killed
//   starts SCRIPT   records a range, and runs the shell script
//   moves PROGRAM   changes its folder, and executes the program
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "kymo/annotate.h"

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? std::atoi(argv[2]) : 0;
  if (how == "many" || how == "texts") {
    const std::string text(1024, 'x');
    for (int i = 0; i < count; ++i) {
      if (how == "many")
        kymo::range_push("forgotten");
      else
        kymo::range_push("forgotten " + std::to_string(i) + text);
    }
    std::thread([] {
      for (int i = 0; i < 1000; ++i) {
        KYMO_RANGE("other");
      }
    }).join();
    kymo::range_push("last");
    kymo::range_pop();
    return 0;
  }
  if (how == "pops") {
    for (int i = 0; i < count; ++i) kymo::range_push("deep");
    for (int i = 0; i < count; ++i) kymo::range_pop();
    return 0;
  }
  if (how == "hang") {
    KYMO_RANGE("outer");
    KYMO_RANGE("stuck {}", 7);
    std::puts("stuck");
    std::fflush(stdout);
    while (true) pause();
  }
  if (how == "starts") {
    { KYMO_RANGE("starting"); }
    return std::system(argv[2]);
  }
  if (how == "moves") {
    { KYMO_RANGE("moving"); }
    if (chdir("/") != 0) return 1;
    execl(argv[2], argv[2], static_cast<char*>(nullptr));
  }
  return 2;
}
