#include "profiler/statistics.h"

#include <gtest/gtest.h>

#include "profiler/masks.h"

namespace kymo::profiler {
namespace {

Statistics fixed_statistics() {
  Statistics statistics;
  statistics.operations = {{"K2", "blur:opencl:0:f32[512, 512]:opencl:0:f32[9]", 4, 50, 0.1, 0},
                           {"G1", "convolution:opencl:0:f32[64, 64]", 2, 3, 0.02, 6e9},
                           {"K1", "scale:opencl:0:f32[16]", 1000, 1.5, 2, 0}};
  statistics.copies = {{"host to device", 10, 5 * 1024 * 1024, 4, 6, 0, 2, 0.5, 0.25},
                       {"device to device", 0, 0, 0, 0, 0, 0, 0, 0},
                       {"device to host", 1, 64, 0, 1, 0, 0.004, 0.012, 0}};
  statistics.fallbacks = {{"1", "sort:opencl:0:f32[16]", 3, 192, 1.5}};
  return statistics;
}

TEST(ProfilerTablesTest, TablesHaveThisFormat) {
  const std::string operations =
      "--  -----  -------------  ------------  -------------  --------  -------------------------------------------\n";
  const std::string copies =
      "--------------  ------  ----------  --------------  -------------  -------  -----------  --------  ------\n";
  const std::string fallbacks = "--  -----  ------------  -------------  -------------  ---------------------\n";
  EXPECT_EQ(
      tables_text(fixed_statistics(), kAllStatistics),
      operations + "Operations: 1 named operation, 2 kernels\n" + operations +
          "ID  #Runs  Mean KRNL(ms)  Mean GPU(ms)  Total GPU(ms)   GFLOP/s  Operation Name\n" + operations +
          "K2      4          0.025        12.500         50.000            blur:opencl:0:f32[512, "
          "512]:opencl:0:f32[9]\n"
          "G1      2          0.010         1.500          3.000  2000.000  convolution:opencl:0:f32[64, 64]\n"
          "K1   1000          0.002         0.002          1.500            scale:opencl:0:f32[16]\n" +
          operations + copies + "Copies: 11 copies (5.00 MiB), 4 of scalars\n" + copies +
          "          Kind  Total#  Total Size  Total KRNL(ms)  Total GPU(ms)  Scalars  Scalars GPU  Blocking  "
          "memcpy\n" +
          copies +
          "host to device      10    5.00 MiB           0.500          2.000        4      12.50 %         6       0\n"
          "device to host       1        64 B           0.012          0.004        0       0.00 %         1       "
          "0\n" +
          copies + fallbacks + "Host fallbacks: 3 runs, 1.500 ms, 192 B copied\n" + fallbacks +
          "ID  #Runs  Mean CPU(ms)  Total CPU(ms)  Copy Overhead  Operation Name\n" + fallbacks +
          " 1      3         0.500          1.500          192 B  sort:opencl:0:f32[16]\n" + fallbacks);
}

TEST(ProfilerTablesTest, RateIsAColumnOnlyIfOneIsKnown) {
  Statistics statistics = fixed_statistics();
  EXPECT_NE(tables_text(statistics, kOperationStatistics).find("GFLOP/s"), std::string::npos);
  statistics.operations.resize(1);
  EXPECT_EQ(tables_text(statistics, kOperationStatistics).find("GFLOP/s"), std::string::npos);
}

TEST(ProfilerTablesTest, EmptyTablesAreOneLineEach) {
  EXPECT_EQ(tables_text({}, kAllStatistics),
            "Kymo profiler: no operations were logged\n"
            "Kymo profiler: no copies were logged\n"
            "Kymo profiler: no host fallbacks were logged\n");
  EXPECT_EQ(tables_text({}, kCopyStatistics), "Kymo profiler: no copies were logged\n");
  EXPECT_EQ(tables_text({}, 0), "");
}

TEST(ProfilerTablesTest, LostExecutionsAreReported) {
  Statistics statistics;
  statistics.lost = 1;
  EXPECT_EQ(tables_text(statistics, 0), "Not in these tables: 1 execution whose times are not known\n");
}

}  // namespace
}  // namespace kymo::profiler
