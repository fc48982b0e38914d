#include "commands/ondemand/on_hosts.h"

#include <gtest/gtest.h>

#include "daemon/triggers.h"
#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::cli {
namespace {

TEST(OnHostsTest, ATraceOfAnotherHostOrTriggerIsNotTaken) {
  const trace::testing::TemporaryFolder folder;
  const std::string file = folder / "a.kymo";
  trace::testing::TestRecorder(file, 1, 100, trace::Writer::Mode::Create, 0, "/usr/bin/train",
                               {{"request", std::to_string(uint64_t{7} << daemon::kTargetBits | 1)}})
      .close();
  const trace::Origin origin = trace::Reader(file).writers().begin()->second.origin;
  EXPECT_NO_THROW(check_fetched(file, origin.boot_id, 7));
  const auto refusal = [&](const std::string& boot_id, uint64_t trigger) -> std::string {
    try {
      check_fetched(file, boot_id, trigger);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_NE(refusal("another boot", 7).find("another host, " + origin.host), std::string::npos);
  EXPECT_NE(refusal(origin.boot_id, 8).find("the trace of trigger 7 and not of 8"), std::string::npos);
}

}  // namespace
}  // namespace kymo::cli
