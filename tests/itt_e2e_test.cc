// Unmodified programs whose libraries report by ITT, under `kymo record --with itt`.
#include <filesystem>

#include "base/test_size.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

class IttTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (base::kIsSanitized)
      GTEST_SKIP() << "programs of the distribution cannot load a library that was built with a sanitizer";
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  }
  std::string trace() const { return file("a.kymo"); }
  Ending record(const Words& options, const Words& program_and_arguments) {
    Words words{program("kymo"), "record", "-o", trace()};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), program_and_arguments.begin(), program_and_arguments.end());
    return run(words);
  }
};

TEST_F(IttTest, PrimitivesOfOneDnnAreRanges) {
  if (!std::filesystem::exists(program("onednn_work")))
    GTEST_SKIP() << "oneDNN was not found when the tests were built (install libdnnl-dev)";
  // With one thread, because each thread reports its part of a primitive.
  const Ending ending = record({"--with", "itt"}, {"env", "OMP_NUM_THREADS=1", program("onednn_work")});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  ASSERT_EQ(seen.count("eltwise"), 10u) << seen.summary();
  EXPECT_EQ(seen.detail_of(*seen.ranges_named("eltwise")[0]).category, "dnnl::primitive::execute");
}

TEST_F(IttTest, ItIsNotRecordedUnlessItIsAskedFor) {
  const Ending ending = record({}, {"sh", "-c", "echo \"[$INTEL_LIBITTNOTIFY64]\""});
  EXPECT_EQ(ending.out, "[]\n");
}

// LLVM's OpenMP aborts if a collector is not complete.
TEST_F(IttTest, OpenMpRunsWithTheCollector) {
  if (!std::filesystem::exists(program("openmp_work")))
    GTEST_SKIP() << "clang or LLVM's OpenMP was not found when the tests were built (install clang and libomp-dev)";
  for (const char* others : {"nvtx", "openmp"}) {
    const Ending ending = record({"--with", "itt", "--without", others}, {program("openmp_work")});
    EXPECT_EQ(ending.code, 0) << ending.err;
  }
}

}  // namespace
}  // namespace kymo::e2e
