#include "import/exported_processes.h"

#include <gtest/gtest.h>

namespace kymo::import {
namespace {

TEST(ExportedProcessesTest, ReadsHostAndEnvironment) {
  const auto processes = exported_processes(
      R"({"processes": [{"pid": 7, "pid_of_events": 10000000, "host": "node17",
          "metadata": {"KYMO_JOB": "train", "torch": "2.11", "distributedInfo": "{\"rank\": 3}"}}]})");
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, 10'000'000u);
  EXPECT_EQ(processes[0].host, "node17");
  EXPECT_EQ(processes[0].environment, (std::vector<std::pair<std::string, std::string>>{
                                          {"KYMO_JOB", "train"}, {"distributedInfo", R"({"rank": 3})"}}));
}

TEST(ExportedProcessesTest, WhatAnotherToolWroteIsIgnored) {
  for (const char* text : {"", "{", "1", "{}", R"({"processes": 1})", R"({"processes": [1]})",
                           R"({"processes": [{"pid": -1, "host": "a", "metadata": {}}]})",
                           R"({"processes": [{"pid": 1, "host": "a", "metadata": {"KYMO_JOB": ["a"]}}]})"})
    EXPECT_TRUE(exported_processes(text).empty()) << text;
}

}  // namespace
}  // namespace kymo::import
