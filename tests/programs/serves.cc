// A server that can be asked for a trace. It handles one request after another until SIGTERM. Each is a range that says
// what the current trace must contain besides times.
//
//   serves             begins each request with kymo::step()
//   serves ranges      names its ranges "step" instead
//   serves slowly      50 requests a second, as the host thread of a program that waits for its device
//   serves nobody      waits for a first request that never comes
//   serves allocates   allocates memory in each request; every tenth block is never freed
//   serves forks       has two children that serve as well
//   serves refuses     has a client that throws when a trace begins
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kymo/annotate.h"
#include "kymo/ondemand.h"
#include "kymo/queue.h"

namespace {

volatile sig_atomic_t stop_requested = 0;

// What is requested: one bit each, in the order of prepare()'s parameters. Another thread sets it.
std::atomic<uint64_t> asked_for{0};

class Listener : public kymo::ondemand::Client {
 public:
  explicit Listener(bool refuses) : refuses_(refuses) { kymo::ondemand::register_client(*this); }
  ~Listener() override { kymo::ondemand::unregister_client(*this); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void prepare(bool shapes, bool memory, bool stack, bool flops, bool modules) override {
    asked_for =
        uint64_t{shapes} | uint64_t{memory} << 1 | uint64_t{stack} << 2 | uint64_t{flops} << 3 | uint64_t{modules} << 4;
  }
  void start() override {
    if (refuses_) throw std::runtime_error("the accelerator is lent to somebody else");
  }
  void stop() override { asked_for = 0; }

 private:
  bool refuses_;
};

constexpr long kRest = 200'000, kLongRest = 20'000'000;  // nanoseconds

void rest(long ns = kRest) {
  const timespec time{0, ns};
  nanosleep(&time, nullptr);
}

void take_memory(uint64_t number) {
  constexpr uint64_t kBlock = 4096;
  const kymo::Label tensor("tensor", "memory");
  const kymo_arg size = kymo::bytes("bytes", kBlock);
  const uint64_t address = (number + 1) * kBlock;
  kymo_allocation(&tensor, &size, 1, address);
  rest();
  if (number % 10 != 0) kymo_free(&tensor, nullptr, 0, address);
}

void serve(const std::string& how) {
  for (uint64_t i = 0; stop_requested == 0; ++i) {
    if (how == "nobody") {
      rest();
    } else if (how == "ranges") {
      KYMO_RANGE("step", kymo::arg("number", i));
      rest();
    } else {
      kymo::step();
      KYMO_RANGE("request", kymo::arg("number", i), kymo::arg("asked for", asked_for.load()));
      how == "allocates" ? take_memory(i) : rest(how == "slowly" ? kLongRest : kRest);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  signal(SIGTERM, [](int) { stop_requested = 1; });
  const Listener listener(how == "refuses");
  for (int child = 0; how == "forks" && child < 2; ++child)
    if (fork() == 0) break;
  alarm(1500);  // in case the test dies
  serve(how);
  return 0;
}
