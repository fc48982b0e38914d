// Allocates and frees memory until SIGTERM: holds heap, or holds device. Exit code 77: there is no device.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "kymo/device.h"
#include "kymo/ondemand.h"

namespace {

volatile sig_atomic_t stop_requested = 0;

void take_from_heap() {
  void* volatile taken = std::malloc(4321);
  std::free(taken);
}

void take_from_device() { const kymo::device::Tensor taken = kymo::device::zeros({4321}); }

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  signal(SIGTERM, [](int) { stop_requested = 1; });
  alarm(1500);  // in case the test dies
  const bool on_device = std::strcmp(argv[1], "device") == 0;
  while (stop_requested == 0) {
    if (on_device)
      take_from_device();
    else
      take_from_heap();
    const timespec time{0, 200'000};
    nanosleep(&time, nullptr);
  }
  return 0;
} catch (const kymo::NotAvailable&) {
  return 77;
}
