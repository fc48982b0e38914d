#include "profiler/tables.h"

#include <gtest/gtest.h>

#include "profiler/masks.h"

namespace kymo::profiler {
namespace {

profiler::Statistics fixed_statistics() {
  profiler::Statistics statistics;
  statistics.operations = {{"K2", "blur:opencl:0:f32[512, 512]:opencl:0:f32[9]", 4, 50, 0.1, 0},
                           {"G1", "convolution:opencl:0:f32[64, 64]", 2, 3, 0.02, 6e9},
                           {"K1", "scale:opencl:0:f32[16]", 1000, 1.5, 2, 0}};
  statistics.copies = {{"host to device", 10, 5 * 1024 * 1024, 4, 6, 0, 2, 0.5, 0.25},
                       {"device to device", 0, 0, 0, 0, 0, 0, 0, 0},
                       {"device to host", 1, 64, 0, 1, 0, 0.004, 0.012, 0}};
  statistics.fallbacks = {{"1", "sort:opencl:0:f32[16]", 3, 192, 1.5}};
  return statistics;
}

TEST(SignpostTablesTest, TablesReadLikeThis) {
  const std::string dashes(200, '-');
  const std::string of_operations = dashes + "\n", of_copies = dashes.substr(0, 160) + "\n",
                    of_fallbacks = dashes.substr(0, 150) + "\n";
  EXPECT_EQ(
      tables_text(fixed_statistics(), kAllStatistics),
      of_operations + "Operations: 1 named operation, 2 kernels\n" + of_operations +
          "      ID     #Runs   Mean KRNL(ms)   Mean GPU(ms)   Total GPU(ms)      GFLOP/s   Operation Name\n" +
          of_operations +
          "      K2         4           0.025         12.500          50.000                "
          "blur:opencl:0:f32[512, 512]:opencl:0:f32[9]\n"
          "      G1         2           0.010          1.500           3.000     2000.000   "
          "convolution:opencl:0:f32[64, 64]\n"
          "      K1      1000           0.002          0.002           1.500                "
          "scale:opencl:0:f32[16]\n" +
          of_operations + of_copies + "Copies: 11 copies (5.00 MiB), 4 of scalars\n" + of_copies +
          "              Kind    Total#     Total Size   Total KRNL(ms)   Total GPU(ms)   Scalars   Scalars GPU   "
          "Blocking    memcpy\n" +
          of_copies +
          "    host to device        10       5.00 MiB            0.500           2.000         4       12.50 %   "
          "       6         0\n"
          "    device to host         1           64 B            0.012           0.004         0        0.00 %   "
          "       1         0\n" +
          of_copies + of_fallbacks + "Host fallbacks: 3 runs, 1.500 ms, 192 B copied\n" + of_fallbacks +
          "      ID     #Runs   Mean CPU(ms)   Total CPU(ms)   Copy Overhead   Operation Name\n" + of_fallbacks +
          "       1         3          0.500           1.500           192 B   sort:opencl:0:f32[16]\n" + of_fallbacks);
}

TEST(SignpostTablesTest, ARateIsAColumnOnlyWhereOneIsKnown) {
  profiler::Statistics statistics = fixed_statistics();
  statistics.operations.resize(1);
  const std::string line = std::string(200, '-') + "\n";
  EXPECT_EQ(tables_text(statistics, kOperationStatistics),
            line + "Operations: 0 named operations, 1 kernel\n" + line +
                "      ID     #Runs   Mean KRNL(ms)   Mean GPU(ms)   Total GPU(ms)   Operation Name\n" + line +
                "      K2         4           0.025         12.500          50.000   "
                "blur:opencl:0:f32[512, 512]:opencl:0:f32[9]\n" +
                line);
}

TEST(SignpostTablesTest, NothingIsSaidInOneLineEach) {
  EXPECT_EQ(tables_text({}, kAllStatistics),
            "Kymo profiler: no operations were logged\n"
            "Kymo profiler: no copies were logged\n"
            "Kymo profiler: no host fallbacks were logged\n");
  EXPECT_EQ(tables_text({}, kCopyStatistics), "Kymo profiler: no copies were logged\n");
  EXPECT_EQ(tables_text({}, 0), "");
}

TEST(SignpostTablesTest, WhatIsNotCountedIsSaid) {
  profiler::Statistics statistics;
  statistics.lost = 1;
  EXPECT_EQ(tables_text(statistics, 0), "Not in these tables: 1 execution whose times could not be had\n");
}

}  // namespace
}  // namespace kymo::profiler
