#include "push/processes.h"

#include <gtest/gtest.h>

#include <map>

namespace kymo::push {
namespace {

std::string run_of(const std::map<std::string, std::string, std::less<>>& environment) {
  return run_name([&](std::string_view name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  });
}

TEST(RunNameTest, LaunchersTellRunsApart) {
  EXPECT_EQ(run_of({}), "");
  EXPECT_EQ(run_of({{"SLURM_JOB_NAME", "train"}, {"SLURM_JOB_ID", "4711"}}), "SLURM_JOB_ID=4711");
  EXPECT_NE(run_of({{"SLURM_JOB_ID", "4711"}, {"SLURM_RESTART_COUNT", "1"}}), run_of({{"SLURM_JOB_ID", "4711"}}));
  EXPECT_NE(run_of({{"MASTER_PORT", "29500"}}), run_of({{"MASTER_PORT", "29501"}}));
}

TEST(RunNameTest, TheUserDecides) { EXPECT_EQ(run_of({{"KYMO_RUN", "a"}, {"SLURM_JOB_ID", "4711"}}), "a"); }

TEST(RunNameTest, TheRanksOfARunHaveOneName) {
  // Components of one job, and nodes that were restarted a different number of times.
  EXPECT_EQ(run_of({{"SLURM_HET_JOB_ID", "4711"}, {"SLURM_JOB_ID", "4711"}}),
            run_of({{"SLURM_HET_JOB_ID", "4711"}, {"SLURM_JOB_ID", "4712"}}));
  EXPECT_EQ(run_of({{"MASTER_PORT", "29500"}, {"TORCHELASTIC_RESTART_COUNT", "0"}}),
            run_of({{"MASTER_PORT", "29500"}, {"TORCHELASTIC_RESTART_COUNT", "1"}}));
  EXPECT_EQ(run_of({{"TORCHELASTIC_RUN_ID", "none"}}), "");
}

}  // namespace
}  // namespace kymo::push
