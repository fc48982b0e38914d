#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_log.h"
#include "kymo/edge_result.h"
#include "kymo/error.h"

namespace kymo::edge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Inputs matrices() {
  Inputs inputs;
  const std::vector<int64_t> sizes = {64, 64};
  inputs.tensor(Element::Float, sizes, {});
  inputs.tensor(Element::Float, sizes, {});
  return inputs;
}

class LongPlaces : public Module {
  std::string module_hierarchy(int64_t, const std::string& name) const override {
    return "top(C)::<unknown>." + std::string(80, 'x') + ".A0(A)::forward." + name;
  }
};

MadeLog& fill(MadeLog& log) {
  MadeThread& thread = log.thread(7);
  const Inputs inputs = matrices();
  thread.begin("aten::linear", 1000, 1, &inputs);
  thread.memory(2000, 0x10, 16384);
  thread.begin("aten::mm", 3000, 1, &inputs);
  thread.memory(4000, 0x20, 2048);
  thread.end(1'503'000);
  thread.end(2'001'000);
  for (uint64_t i = 0; i < 3; ++i) {
    thread.begin("aten::add", 3'000'000 + i * 1000, 1, &inputs);
    thread.end(3'000'500 + i * 1000);
  }
  thread.memory(4'000'000, 0x20, -2048);
  return log;
}

TEST(TableTest, PlainTable) {
  MadeLog log(5'000'000);
  log.options.wanted.memory = false;
  EXPECT_EQ(EdgeResult(fill(log).build()).table(),
            "------------  ----------  ---------  -----------  ---------  ------------  ----------\n"
            "Name          Self CPU %   Self CPU  CPU total %  CPU total  CPU time avg  # of Calls\n"
            "------------  ----------  ---------  -----------  ---------  ------------  ----------\n"
            "aten::mm          74.94%    1.500ms       74.94%    1.500ms       1.500ms           1\n"
            "aten::linear      24.98%  500.000us       99.93%    2.000ms       2.000ms           1\n"
            "aten::add          0.07%    1.500us        0.07%    1.500us       0.500us           3\n"
            "------------  ----------  ---------  -----------  ---------  ------------  ----------\n"
            "Self CPU time total: 2.002ms\n");
}

TEST(TableTest, MemoryFlopsAndShapes) {
  MadeLog log(5'000'000);
  EXPECT_EQ(
      EdgeResult(fill(log).build({.flops = true})).table("flops", 2, EdgeGroup::Shape),
      "------------  ----------  ---------  -----------  ---------  ------------  --------  ------------  ----------  "
      "--------------------  ------------\n"
      "Name          Self CPU %   Self CPU  CPU total %  CPU total  CPU time avg   CPU Mem  Self CPU Mem  # of Calls  "
      "Input Shapes          Total KFLOPs\n"
      "------------  ----------  ---------  -----------  ---------  ------------  --------  ------------  ----------  "
      "--------------------  ------------\n"
      "aten::linear      24.98%  500.000us       99.93%    2.000ms       2.000ms  18.00 KB      16.00 KB           1  "
      "[[64, 64], [64, 64]]       524.288\n"
      "aten::add          0.07%    1.500us        0.07%    1.500us       0.500us       0 B           0 B           3  "
      "[[64, 64], [64, 64]]        12.288\n"
      "------------  ----------  ---------  -----------  ---------  ------------  --------  ------------  ----------  "
      "--------------------  ------------\n"
      "(1 more)\n"
      "Self CPU time total: 2.002ms\n");
}

TEST(TableTest, CountersWithTheirMarks) {
  MadeLog log(5'000'000);
  log.options.wanted.memory = false;
  log.options.events = {{.name = "cycles"}};
  MadeThread& thread = log.thread(7);
  thread.begin("exact", 1000), thread.count({0}, {500}), thread.end(5000);
  thread.begin("scaled", 6000), thread.count({0}, {100}, 50), thread.end(8000);
  thread.begin("unknown", 9000), thread.end(10'000);
  EXPECT_EQ(EdgeResult(log.build()).table("cycles"),
            "-------  ----------  --------  -----------  ---------  ------------  ----------  ------  -----------\n"
            "Name     Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  # of Calls  cycles  Self cycles\n"
            "-------  ----------  --------  -----------  ---------  ------------  ----------  ------  -----------\n"
            "exact        57.14%   4.000us       57.14%    4.000us       4.000us           1     500          500\n"
            "scaled       28.57%   2.000us       28.57%    2.000us       2.000us           1    ~200         ~200\n"
            "unknown      14.29%   1.000us       14.29%    1.000us       1.000us           1      --           --\n"
            "-------  ----------  --------  -----------  ---------  ------------  ----------  ------  -----------\n"
            "Self CPU time total: 7.000us\n");
}

TEST(TableTest, DevicesHaveTheirOwnColumns) {
  MadeLog log(5'000'000'000);
  log.options.wanted.memory = false;
  MadeThread& thread = log.thread(7);
  thread.begin("launch", 1000), thread.device_operation("kernel", 10'000, 2'500'010'000, {4, 0}), thread.end(2000);
  EXPECT_EQ(EdgeResult(log.build()).table("device_time_total"),
            "------  ----------  --------  -----------  ---------  ------------  ----------"
            "--  ---------------  ----------\n"
            "Name    Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  Device tot"
            "al  Device time avg  # of Calls\n"
            "------  ----------  --------  -----------  ---------  ------------  ----------"
            "--  ---------------  ----------\n"
            "kernel       0.00%   0.000us        0.00%    0.000us       0.000us        2.50"
            "0s           2.500s           1\n"
            "launch     100.00%   1.000us      100.00%    1.000us       1.000us       0.000"
            "us          0.000us           1\n"
            "------  ----------  --------  -----------  ---------  ------------  ----------"
            "--  ---------------  ----------\n"
            "Self CPU time total: 1.000us\n"
            "Device time total: 2.500s\n");
}

TEST(TableTest, LongPlacesAreTruncatedAtTheBegin) {
  MadeLog log(5'000'000);
  const std::string text =
      EdgeResult(fill(log).build({.modules = true}, LongPlaces{})).table("name", 100, EdgeGroup::Module);
  EXPECT_THAT(text, HasSubstr("..."));
  EXPECT_THAT(text, HasSubstr("xx.A0(A)::forward.aten::mm"));
  EXPECT_THAT(text, Not(HasSubstr("top(C)")));
}

TEST(TableTest, SortsByEachOrder) {
  MadeLog log(5'000'000);
  const EdgeResult result(fill(log).build({.flops = true}));
  const auto first = [&](std::string_view sort_by) {
    const std::string text = result.table(sort_by, 1);
    const size_t at = text.find("aten::");
    return text.substr(at, text.find(' ', at) - at);
  };
  EXPECT_EQ(first("self_cpu_time_total"), "aten::mm");
  EXPECT_EQ(first("cpu_time_total"), "aten::linear");
  EXPECT_EQ(first("cpu_time"), "aten::linear");
  EXPECT_EQ(first("self_cpu_memory_usage"), "aten::linear");
  EXPECT_EQ(first("cpu_memory_usage"), "aten::linear");
  EXPECT_EQ(first("flops"), "aten::linear");
  EXPECT_EQ(first("count"), "aten::add");
  EXPECT_EQ(first("name"), "aten::add");
}

TEST(TableTest, UnknownOrderIsRefusedWithTheListOfOrders) {
  MadeLog log(5'000'000);
  log.options.events = {{.name = "cycles"}};
  try {
    EdgeResult(log.build()).table("time");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot sort by \"time\": use one of self_cpu_time_total,"));
    EXPECT_THAT(error.what(), HasSubstr(", name, cycles"));
  }
}

TEST(TableTest, EmptyResultGivesATableWithoutRows) {
  EXPECT_THAT(EdgeResult().table(), HasSubstr("Self CPU time total: 0.000us\n"));
}

TEST(TableTest, LossesAreListedBelowTheTable) {
  EXPECT_THAT(EdgeResult(MadeLog(10).build({.losses = {"2 backend events ended before they began"}})).table(),
              HasSubstr("\nNot complete: 2 backend events ended before they began\n"));
}

}  // namespace
}  // namespace kymo::edge
