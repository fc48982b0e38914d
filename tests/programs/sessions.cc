// Starts and stops recording from code, many times, each time into another file: sessions FOLDER COUNT.
//
// File i gets i + 1 times "inside" with a "nested" in it. What is recorded outside, or only half inside, belongs to no
// file. Checks the depths that the calls return. With a third argument, the program is killed inside the last session.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "kymo/annotate.h"
#include "kymo/session.h"

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

void inside(int times, int depth) {
  for (int i = 0; i < times; ++i) {
    expect(kymo::range_push("inside") == depth);
    { KYMO_RANGE("nested"); }
    expect(kymo::range_pop() == depth);
  }
}

// Only one session at a time; and dump() needs a flight recorder.
void expect_refusals(const std::string& path) {
  int refused = 0;
  try {
    kymo::Session second(path);
  } catch (const kymo::Error&) {
    ++refused;
  }
  try {
    kymo::dump(path);
  } catch (const kymo::Error&) {
    ++refused;
  }
  expect(refused == 2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string folder = argv[1];
  const int count = std::atoi(argv[2]);
  auto across = kymo::range_start("started outside");
  for (int i = 0; i < count; ++i) {
    expect(!kymo::is_recording());
    inside(3, 0);
    kymo::mark("outside");
    { const kymo::Range outside{"outside"}; }
    expect(kymo::range_push("before") == 0);
    expect(kymo::range_push("before") == 1);

    kymo::Session session(folder + "/" + std::to_string(i) + ".kymo");
    expect(kymo::is_recording());
    expect_refusals(folder + "/second.kymo");
    kymo::range_end(across);         // started while nothing, or another session, recorded
    expect(kymo::range_pop() == 1);  // its start is not in the file; this is not a loss
    if (i % 2 == 1) expect(kymo::range_pop() == 0);
    const int depth = i % 2 == 1 ? 0 : 1;  // the calls count all open ranges; the file only those whose start it has
    inside(i, depth);
    std::thread([] { inside(1, 0); }).join();
    across = kymo::range_start("across");
    expect(kymo::range_push("cut off") == depth);
    const kymo::Range half{"half"};
    if (argc > 3 && i + 1 == count) kill(getpid(), SIGKILL);
    session.close();
    expect(kymo::range_pop() == depth);
    if (depth == 1) expect(kymo::range_pop() == 0);
    expect(kymo::range_pop() == -1);
    kymo::mark("outside");
  }
  return 0;
}
