// A program that uses Kymo and NVTX: each has its own copy of the recorder in the process.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

#include "kymo/annotate.h"

int main() {
  const kymo::Range outer{"by Kymo"};
  const int first = nvtxRangePushA("by NVTX");
  const int second = kymo::range_push("by Kymo, inside");
  const int third = nvtxRangePushA("by NVTX, inside");
  nvtxRangePop();
  kymo::range_pop();
  nvtxRangePop();
  printf("depths %d %d %d\n", first, second, third);
}
