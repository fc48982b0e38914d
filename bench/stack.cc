// The cost of a captured frame, with unwind tables and with frame pointers, at several depths. The compiler's own
// unwinder runs in the same rounds for comparison. Also the cost of finding the symbol of an address.
#include <unwind.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "measure.h"
#include "report.h"
#include "symbols/capture.h"
#include "symbols/symbols.h"

namespace {

using bench::median;
using bench::text;
using kymo::symbols::Method;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 200, kCaptures = 200;
constexpr double kMaxTablesNs = 25, kMaxPointersNs = 5;  // per frame

std::array<uintptr_t, 512> addresses;

size_t by_compiler() {
  size_t count = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        size_t& at = *static_cast<size_t*>(argument);
        if (at == addresses.size()) return _URC_END_OF_STACK;
        addresses[at++] = _Unwind_GetIP(context);
        return _URC_NO_REASON;
      },
      &count);
  return count;
}

template <class Capture>
double frame_ns(Capture capture) {
  size_t frames = 0;
  const auto began = Clock::now();
  for (int i = 0; i < kCaptures; ++i) frames += capture();
  return std::chrono::duration<double, std::nano>(Clock::now() - began).count() / static_cast<double>(frames);
}

// In turns, because machines are shared.
void measure(int depth) {
  std::vector<double> tables, pointers, compiler;
  for (int i = 0; i < kRounds; ++i) {
    tables.push_back(frame_ns([] { return kymo::symbols::capture(addresses, 0, Method::UnwindTables); }));
    pointers.push_back(frame_ns([] { return kymo::symbols::capture(addresses, 0, Method::FramePointers); }));
    if (i % 10 == 0) compiler.push_back(frame_ns(by_compiler));
  }
  const std::string at = text("_%d", depth), more = text("a frame of a stack %d deep", depth);
  bench::row(("stack_tables" + at).c_str(), more + ", by unwind tables", text("%.1f ns", median(tables)),
             text("<= %.0f ns", kMaxTablesNs), median(tables) <= kMaxTablesNs);
  bench::peer(("stack_tables" + at).c_str(), "_Unwind_Backtrace", text("%.1f ns", median(compiler)));
  bench::row(("stack_pointers" + at).c_str(), more + ", by frame pointers", text("%.1f ns", median(pointers)),
             text("<= %.0f ns", kMaxPointersNs), median(pointers) <= kMaxPointersNs);
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) int descend(int left, int depth) {
  if (left == 0)
    measure(depth);
  else
    descend(left - 1, depth);
  asm volatile("" ::: "memory");  // not a tail call, which leaves no frame
  return left;
}

void measure_symbols() {
  const size_t count = kymo::symbols::capture(addresses, 0, Method::UnwindTables);
  const auto began = Clock::now();
  kymo::symbols::Symbols symbols;
  for (size_t i = 0; i < count; ++i) symbols.at_return_address(addresses[i]);
  const auto found = Clock::now();
  constexpr int kAgain = 10'000;
  for (int i = 0; i < kAgain; ++i) symbols.at_return_address(addresses[0]);
  const auto again = Clock::now();
  using Microseconds = std::chrono::duration<double, std::micro>;
  bench::row("stack_symbols", "names of a stack, debug information opened for it",
             text("%.0f us for %zu frames", Microseconds(found - began).count(), count), "", true);
  bench::row("stack_symbols_again", "a name that was asked for before",
             text("%.0f ns", Microseconds(again - found).count() * 1000 / kAgain), "", true);
}

}  // namespace

int main() {
  for (const int depth : {10, 50, 200}) descend(depth, depth);
  measure_symbols();
  return 0;
}
