// An unmodified OpenMP program under `kymo record`.
#include <filesystem>

#include "base/test_size.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

class OpenMpTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (base::kIsSanitized)
      GTEST_SKIP() << "programs of the distribution cannot load a library that was built with a sanitizer";
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
    if (!std::filesystem::exists(program("../lib/libkymo_inject.so"))) GTEST_SKIP() << "libkymo_inject.so is not built";
    if (!std::filesystem::exists(program("openmp_work")))
      GTEST_SKIP() << "clang or LLVM's OpenMP was not found when the tests were built (install clang and libomp-dev)";
  }
  std::string trace() const { return file("a.kymo"); }
  Ending record(Words words) {
    words.insert(words.begin(), {program("kymo"), "record", "-o", trace(), "--"});
    return run(words);
  }
  // By the construct, wherever it is.
  static size_t count(const Readback& trace, const std::string& construct, uint64_t pid = 0) {
    size_t found = 0;
    for (const Event& event : trace.ranges) {
      const std::string& name = trace.name_of(event);
      const bool same =
          name == construct || name.starts_with(construct + " in ") || name.starts_with(construct + " at ");
      found += same && (pid == 0 || trace.pid_of(event) == pid) ? 1 : 0;
    }
    return found;
  }
};

TEST_F(OpenMpTest, ConstructsAreRangesOnTheirThreads) {
  const Ending ending = record({program("openmp_work")});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "omp parallel"), 10u) << "5 regions on 2 threads\n" << seen.summary();
  EXPECT_EQ(count(seen, "omp loop"), 10u);
  EXPECT_EQ(count(seen, "omp single"), 5u);
  EXPECT_EQ(count(seen, "omp task"), 15u);
  EXPECT_EQ(count(seen, "omp taskwait"), 5u);
  EXPECT_EQ(count(seen, "omp wait for critical"), 10u);
  EXPECT_EQ(count(seen, "omp barrier"), 35u) << "3 in the region on each thread, and its end on the first";
  EXPECT_EQ(count(seen, "omp wait for work"), 5u) << "the end of the region on the worker";
  ASSERT_EQ(seen.tracks.size(), 2u);
  EXPECT_TRUE(seen.tracks[0].track.name == "OpenMP worker 1" || seen.tracks[1].track.name == "OpenMP worker 1");
}

TEST_F(OpenMpTest, TheToolStaysForTracesOnDemandIfItIsWanted) {
  const auto environment = [&](const Words& options) {
    Words words{program("kymo"), "env"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words).out;
  };
  EXPECT_THAT(environment({"--with", "openmp"}), testing::HasSubstr("export KYMO_OPENMP='on'"));
  EXPECT_THAT(environment({}), testing::Not(testing::HasSubstr("KYMO_OPENMP")));
  EXPECT_THAT(environment({"--with", "openmp", "--without", "openmp"}),
              testing::Not(testing::HasSubstr("KYMO_OPENMP")));
}

TEST_F(OpenMpTest, AForkedChildIsRecordedToo) {
  const Ending ending = record({program("openmp_work"), "fork"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "omp parallel"), 20u) << seen.summary();
  EXPECT_EQ(count(seen, "omp task"), 30u);
  EXPECT_EQ(seen.origins.size(), 2u);
}

TEST_F(OpenMpTest, AnotherToolKeepsItsPlace) {
  const Words words{program("kymo"), "record", "-o", trace(), "--", "sh", "-c", "echo $OMP_TOOL_LIBRARIES"};
  const Ending ending = run(words, {.environment = {{"OMP_TOOL_LIBRARIES", "/tool.so"}}});
  EXPECT_THAT(ending.out, testing::MatchesRegex("/tool.so:.*/libkymo_inject.so\n"));
}

TEST_F(OpenMpTest, WithoutOpenMpTheToolDeclines) {
  const Ending ending =
      run({program("kymo"), "record", "-o", trace(), "--without", "openmp", "--", program("openmp_work")});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_TRUE(read_back(trace()).ranges.empty());
}

}  // namespace
}  // namespace kymo::e2e
