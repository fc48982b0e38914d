// list_sinks and set_sinks. tests/sinks_e2e_test.cc tests the tools that listen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/annotate.h"
#include "kymo/sink.h"
#include "record/process.h"

// This program has no collector.
extern "C" void kymo_link_collector(void) {}

namespace kymo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of_sinks_on() {
  std::vector<std::string> on;
  for (const SinkReport& report : list_sinks())
    if (report.on) on.push_back(report.name);
  return on;
}

// A sink that is available here and needs no permission; empty: none was built in.
std::string some_sink() {
  for (const SinkReport& report : list_sinks())
    if (report.absent.empty() && (report.name == "usdt" || report.name == "nvtx")) return report.name;
  return {};
}

template <class Thrown>
std::string complaint(std::string_view names) {
  try {
    set_sinks(names);
  } catch (const Thrown& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class SetSinksTest : public ::testing::Test {
 protected:
  void TearDown() override { set_sinks(""); }
};

TEST_F(SetSinksTest, AllAreListedAndNoneIsOn) {
  std::vector<std::string> names;
  for (const SinkReport& report : list_sinks()) {
    names.push_back(report.name);
    EXPECT_FALSE(report.on);
    EXPECT_EQ(report.absent.find('\n'), std::string::npos) << "one line";
  }
  EXPECT_THAT(names, ElementsAre("usdt", "lttng", "trace-marker", "nvtx"));
}

TEST_F(SetSinksTest, TheGivenSinksAreOnAndAllOthersAreOff) {
  const std::string name = some_sink();
  if (name.empty()) GTEST_SKIP() << "no sink was built in";
  set_sinks(name);
  EXPECT_THAT(names_of_sinks_on(), ElementsAre(name));
  EXPECT_EQ(kymo_mode.load(), record::kSinkBit);
  { KYMO_RANGE("received by nobody"); }
  set_sinks(name);
  EXPECT_THAT(names_of_sinks_on(), ElementsAre(name));
  set_sinks(" \t");
  EXPECT_THAT(names_of_sinks_on(), ElementsAre());
  EXPECT_EQ(kymo_mode.load(), 0u);
}

TEST_F(SetSinksTest, CaseAndBlanksDoNotMatter) {
  std::string name = some_sink();
  if (name.empty()) GTEST_SKIP() << "no sink was built in";
  const std::string plain = name;
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  set_sinks(" " + name + " ,\t" + plain + "\n");
  EXPECT_THAT(names_of_sinks_on(), ElementsAre(plain));
}

TEST_F(SetSinksTest, AnUnknownNameIsRefusedBeforeAnythingChanges) {
  const std::string name = some_sink();
  set_sinks(name);
  const auto before = names_of_sinks_on();
  EXPECT_EQ(complaint<InvalidArgument>("usd"), "\"usd\" is no sink; there are: usdt, lttng, trace-marker, nvtx");
  EXPECT_THAT(complaint<InvalidArgument>(name + ","), HasSubstr("\"\" is no sink"));
  EXPECT_THAT(complaint<InvalidArgument>("usdt nvtx"), HasSubstr("\"usdt nvtx\" is no sink"));
  EXPECT_EQ(names_of_sinks_on(), before);
}

TEST_F(SetSinksTest, AnUnavailableSinkIsRefusedWithTheReason) {
  for (const SinkReport& report : list_sinks()) {
    if (report.absent.empty()) continue;
    EXPECT_THAT(complaint<NotAvailable>(report.name), HasSubstr(report.absent));
    EXPECT_THAT(complaint<NotAvailable>(report.name), HasSubstr('"' + report.name + '"'));
  }
  EXPECT_THAT(names_of_sinks_on(), ElementsAre());
}

TEST_F(SetSinksTest, SinksOfTheProgramStayOn) {
  static int marks = 0;
  static constexpr kymo_sink kOwn = {.name = "the program's own",
                                     .range_push = nullptr,
                                     .range_pop = nullptr,
                                     .range_start = nullptr,
                                     .range_end = nullptr,
                                     .mark = [](const char*, const kymo_label*) { ++marks; },
                                     .counter = nullptr,
                                     .interval_begin = nullptr,
                                     .interval_end = nullptr,
                                     .event = nullptr,
                                     .wants_messages = 0,
                                     .listens = nullptr};
  ASSERT_NE(kymo_add_sink(&kOwn), 0);
  set_sinks(some_sink());
  set_sinks("");
  mark("m");
  KYMO_RANGE("its missing functions are not called");
  counter("c", 1);
  range_end(range_start("s"));
  kymo_remove_sink(&kOwn);
  mark("m");
  EXPECT_EQ(marks, 1);
}

}  // namespace
}  // namespace kymo
