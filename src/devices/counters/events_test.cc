#include "counters/events.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "counters/test_events.h"
#include "counters/thread_group.h"
#include "kymo/error.h"

namespace kymo::counters {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

template <class Expected>
std::string message_of(const std::vector<std::string>& names) {
  try {
    find_events(names);
  } catch (const Expected& error) {
    return error.what();
  } catch (const Error& error) {
    return std::string("another kind: ") + error.what();
  }
  return "found";
}

TEST(EventNamesTest, FiveCommonEventsComeFirst) {
  std::vector<std::string> names;
  for (const Event& event : kernel_events().first(5)) names.push_back(event.name);
  EXPECT_THAT(names,
              ElementsAre("cycles", "instructions", "pagefaults", "backend-stall-cycles", "frontend-stall-cycles"));
}

TEST(EventNamesTest, AliasesMeanTheSameEventAndKeepTheirSpelling) {
  const auto same = [](std::string_view a, std::string_view b) {
    const auto first = kernel_event(a), second = kernel_event(b);
    return first && second && first->type == second->type && first->config == second->config && first->name == a;
  };
  EXPECT_TRUE(same("page-faults", "pagefaults"));
  EXPECT_TRUE(same("stalled-cycles-backend", "backend-stall-cycles"));
  EXPECT_TRUE(same("cpu-cycles", "CYCLES"));
  EXPECT_TRUE(same("cs", "context-switches"));
  EXPECT_FALSE(kernel_event("").has_value());
  EXPECT_FALSE(kernel_event("cycle").has_value());
}

TEST(EventNamesTest, CacheEventsHavePerfNames) {
  const auto event = kernel_event("LLC-load-misses");
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, uint32_t{PERF_TYPE_HW_CACHE});
  EXPECT_EQ(event->config, 0x10002u);
  for (const char* const name : {"L1-dcache-loads", "L1-dcache-stores", "dTLB-load-misses", "iTLB-loads",
                                 "LLC-prefetches", "node-loads", "branch-load-misses"})
    EXPECT_TRUE(kernel_event(name).has_value()) << name;
}

TEST(EventNamesTest, KernelOnlyEventsAreCountedInTheKernel) {
  EXPECT_FALSE(kernel_event("context-switches")->exclude_kernel);
  EXPECT_FALSE(kernel_event("cpu-migrations")->exclude_kernel);
  EXPECT_TRUE(kernel_event("page-faults")->exclude_kernel);
  EXPECT_TRUE(kernel_event("cycles")->exclude_kernel);
}

#if KYMO_HAVE_PFM
TEST(EventNamesTest, ListedProcessorEventsCanBeLookedUp) {
  const std::vector<std::string> names = processor_event_names();
  if (names.empty()) GTEST_SKIP() << "libpfm4 does not know this processor";
  const auto found = static_cast<size_t>(std::count_if(
      names.begin(), names.end(), [](const std::string& name) { return processor_event(name).has_value(); }));
  EXPECT_GE(found, names.size() * 9 / 10);
  EXPECT_FALSE(processor_event("no such event").has_value());
  EXPECT_FALSE(processor_event("").has_value());
}

TEST(EventNamesTest, ModeFollowsAColon) {
  const auto user = processor_event("perf::PERF_COUNT_HW_CPU_CYCLES"), kernel = processor_event("perf::cycles:k");
  ASSERT_TRUE(user && kernel);
  EXPECT_TRUE(user->exclude_kernel);
  EXPECT_FALSE(user->exclude_user);
  EXPECT_FALSE(kernel->exclude_kernel);
  EXPECT_TRUE(kernel->exclude_user);
}

TEST(EventNamesTest, ThreadsMayLookUpConcurrently) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([] { EXPECT_TRUE(processor_event("perf::PERF_COUNT_SW_PAGE_FAULTS").has_value()); });
  for (std::thread& thread : threads) thread.join();
}
#endif

TEST(FindEventsTest, NoNamesGiveNoEvents) { EXPECT_TRUE(find_events({}).empty()); }

TEST(FindEventsTest, ErrorForAnUnknownNameListsSimilarNames) {
  EXPECT_THAT(message_of<InvalidArgument>({"instrctions"}),
              AllOf(StartsWith("no performance event \"instrctions\""), HasSubstr("the nearest: instructions")));
  EXPECT_THAT(message_of<InvalidArgument>({"pagefault"}), HasSubstr("the nearest: pagefaults"));
  EXPECT_THAT(message_of<InvalidArgument>({""}), StartsWith("no performance event \"\"; "));
}

TEST(FindEventsTest, UntrustedNamesAreShownSafely) {
  EXPECT_THAT(message_of<InvalidArgument>({std::string("pagefaults\0x", 12)}), HasSubstr("\"pagefaults?x\""));
  EXPECT_THAT(message_of<InvalidArgument>({"a\nb\x1b[31m"}), AllOf(HasSubstr("\"a?b?[31m\""), Not(HasSubstr("\n"))));
  EXPECT_LT(message_of<InvalidArgument>({std::string(100'000, 'x')}).size(), 2000u);
  EXPECT_THAT(message_of<InvalidArgument>({"%s{}%n::::"}), StartsWith("no performance event"));
}

TEST(FindEventsTest, DuplicateAndTooManyEventsAreRefused) {
  KYMO_NEEDS_EVENTS("page-faults");
  EXPECT_EQ(message_of<InvalidArgument>({"page-faults", "page-faults"}),
            "performance event \"page-faults\" is given twice");
  EXPECT_EQ(message_of<InvalidArgument>(std::vector<std::string>(9, "page-faults")),
            "9 performance events: at most 8 are counted at once");
}

TEST(FindEventsTest, ErrorForAnUnsupportedEventListsSupportedOnes) {
  const Event cycles = *kernel_event("cycles");
  if (try_event(cycles) == 0) GTEST_SKIP() << "this machine counts cycles";
  EXPECT_THAT(message_of<NotAvailable>({"cycles"}), StartsWith("performance event \"cycles\" cannot be counted: "));
  KYMO_NEEDS_EVENTS("page-faults");
  EXPECT_THAT(message_of<NotAvailable>({"cycles"}), HasSubstr("; countable here: pagefaults, task-clock, "));
}

TEST(FindEventsTest, CountableEventsAreFound) {
  const std::vector<std::string> names = countable_events();
  for (const std::string& name : names) EXPECT_EQ(message_of<NotAvailable>({name}), "found");
  KYMO_NEEDS_EVENTS("page-faults");
  EXPECT_THAT(names, Contains("pagefaults"));
}

TEST(RefusalTest, StatesTheReasonAndTheRemedy) {
  const Event cycles = *kernel_event("cycles");
  const Event faults = *kernel_event("page-faults");
  EXPECT_THAT(refusal(cycles, ENOENT), try_event(cycles) == 0 ? HasSubstr("the processor") : HasSubstr("this machine"));
  EXPECT_THAT(refusal(faults, ENOENT), HasSubstr("this kernel"));
  EXPECT_THAT(refusal(faults, EMFILE), HasSubstr("ulimit -n"));
  EXPECT_THAT(refusal(faults, ENOSYS), HasSubstr("without performance events"));
  EXPECT_FALSE(refusal(faults, EACCES).empty());
  EXPECT_FALSE(refusal(faults, 12345).empty());
}

// Runs as a user without rights in a child process. The child exits with 0 if the kernel refuses the event and the
// message states the remedy.
TEST(RefusalTest, UserWithoutRightsCountsOwnWorkAndGetsTheRemedyForKernelEvents) {
  int paranoid = -1;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  if (geteuid() != 0 || paranoid != 2) GTEST_SKIP() << "needs root, and kernel.perf_event_paranoid=2";
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(3);
    if (message_of<NotAvailable>({"page-faults", "task-clock"}) != "found") _exit(1);
    const std::string message = message_of<NotAvailable>({"context-switches"});
    _exit(message.find("sudo sysctl kernel.perf_event_paranoid=1") != std::string::npos ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace kymo::counters
