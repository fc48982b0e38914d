#include "commands/ondemand/stack_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kymo::cli {
namespace {

sample::ThreadStack waiting(pid_t tid, const std::string& name, const std::string& object,
                            const std::vector<std::string>& functions) {
  sample::ThreadStack thread;
  thread.tid = tid;
  thread.name = name;
  thread.state = 'S';
  thread.is_complete = true;
  thread.blocked.emplace();
  thread.blocked->call = "futex";
  thread.blocked->object = object;
  thread.frames.push_back({"pthread_cond_wait", "", 0, "/lib/libc.so.6", false});
  for (const std::string& function : functions)
    thread.frames.push_back({function, function + ".cc", static_cast<uint32_t>(tid), "/bin/train", false});
  return thread;
}

SeenProcess train(pid_t pid, const std::string& rank, const std::string& host = "") {
  const std::string lock = "condition variable 0x" + std::to_string(pid);
  return {{pid, "train", {waiting(pid, "train", lock, {"all_reduce", "main"})}, 1000}, host, rank};
}

TEST(StackGroupsTest, RankForWhichTheOthersWaitIsNamed) {
  std::vector<SeenProcess> processes;
  for (int rank = 0; rank < 64; ++rank) processes.push_back(train(1000 + rank, std::to_string(rank), "node1"));
  sample::ThreadStack& other = processes[17].stacks.threads[0];
  other.state = 'R';
  other.blocked.reset();
  other.frames = {{"next_batch", "", 0, "/bin/train", false}};
  EXPECT_EQ(stacks_text(processes),
            "train: 64 processes on node1, each stopped for at most 1.00 µs\n"
            "\n"
            "63 ranks (0-16, 18-63): each waits in futex: condition variable, in all_reduce\n"
            "    pthread_cond_wait  libc.so.6\n"
            "    all_reduce  all_reduce.cc\n"
            "    main  main.cc\n"
            "\n"
            "rank 17 (train 1017 on node1) runs, in next_batch\n"
            "    next_batch  train\n");
}

TEST(StackGroupsTest, RecursionIsFolded) {
  std::vector<SeenProcess> processes{train(1, "")};
  std::vector<symbols::Frame>& frames = processes[0].stacks.threads[0].frames;
  const auto call = [&](const std::string& function, size_t times) {
    for (size_t i = 0; i < times; ++i) frames.push_back({function, "", 0, "/bin/train", false});
  };
  frames.clear();
  call("leaf", 2);
  call("deep", 1000);
  for (int i = 0; i < 10; ++i) call("even", 1), call("odd", 1);
  call("even", 1);
  call("main", 1);
  const std::string text = stacks_text(processes);
  EXPECT_EQ(text.substr(text.find("    ")),
            "    leaf  train\n"
            "    leaf  train\n"
            "    deep  train\n"
            "    … the same, 999 times more\n"
            "    even  train\n"
            "    odd  train\n"
            "    … the same 2 functions, 9 times more\n"
            "    even  train\n"
            "    main  train\n");
}

TEST(StackGroupsTest, MainThreadsComeFirst) {
  std::vector<SeenProcess> processes{train(1, ""), train(2, "")};
  processes[1].stacks.threads[0].frames.pop_back();
  for (SeenProcess& process : processes)
    process.stacks.threads.push_back(waiting(process.stacks.pid + 10, "worker", "mutex 0x7", {"work"}));
  const std::string text = stacks_text(processes);
  const size_t first = text.find("\ntrain 1 waits"), second = text.find("\ntrain 2 waits");
  const size_t workers = text.find("\n2 processes (1, 2), 2 threads \"worker\": each waits in futex: mutex, in work\n");
  ASSERT_NE(workers, text.npos) << text;
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, workers) << text;
}

TEST(StackGroupsTest, OneProcessKeepsAddressesAndLines) {
  std::vector<SeenProcess> one{train(4711, "3")};
  sample::ProcessStacks& process = one[0].stacks;
  process.threads.push_back(waiting(4712, "worker", "mutex 0x10", {"work"}));
  process.threads[1].blocked->of = 4711;
  process.threads.push_back(process.threads[1]);
  process.threads[2].tid = 4713;
  const std::string text = stacks_text(one);
  EXPECT_NE(text.find("train (4711): 3 threads, stopped for 1.00 µs\n"), text.npos) << text;
  EXPECT_NE(text.find("\nthread 4711 \"train\" waits in futex: condition variable 0x4711\n"), text.npos) << text;
  EXPECT_NE(text.find("    all_reduce  all_reduce.cc:4711\n"), text.npos) << text;
  EXPECT_NE(text.find("2 threads 4712 \"worker\", 4713 \"worker\": each waits in futex: mutex 0x10, "
                      "held by thread 4711 \"train\"\n"),
            text.npos)
      << text;
}

TEST(StackGroupsTest, CodeThatIsMadeAtRunTimeIsTheSameInAllProcesses) {
  std::vector<SeenProcess> processes{train(1, "0"), train(2, "1")};
  processes[0].stacks.threads[0].frames.push_back({"0x7f0000000010", "", 0, "", false});
  processes[1].stacks.threads[0].frames.push_back({"0x7e0000000010", "", 0, "", false});
  EXPECT_NE(stacks_text(processes).find("\n2 ranks (0-1): each waits"), std::string::npos) << stacks_text(processes);
}

TEST(StackGroupsTest, ProcessesThatShareARankAreCounted) {
  const SeenProcess one = train(1, "0"), child = train(2, "0"), other = train(3, "5"), none = train(4, ""),
                    bad = train(5, "7x");
  EXPECT_EQ(processes_text({&one}), "rank 0 (train 1)");
  EXPECT_EQ(processes_text({&one, &other}), "2 ranks (0, 5)");
  EXPECT_EQ(processes_text({&one, &child, &other}), "3 processes of 2 ranks (0, 5)");
  EXPECT_EQ(processes_text({&one, &none}), "2 processes (1, 4)");
  EXPECT_EQ(processes_text({&bad}), "train 5");
}

TEST(StackGroupsTest, TextFromAnotherHostCannotControlTheTerminal) {
  std::vector<SeenProcess> processes{train(1, "0", "node1"), train(2, "1", "node2")};
  sample::ThreadStack& thread = processes[0].stacks.threads[0];
  thread.name = processes[0].stacks.program = thread.frames[0].function = thread.frames[0].module =
      thread.blocked->call = thread.blocked->object = processes[0].host = "\x1b[31m";
  EXPECT_EQ(stacks_text(processes).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kymo::cli
