#include "record/cut_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace kymo::record {
namespace {

class CutGuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer puts a handler off, and the access is made again and again";
#endif
    char folder[] = "/tmp/kymo-cut-XXXXXX";
    folder_ = ::mkdtemp(folder);
    ::setenv("KYMO_SHM_DIR", folder_.c_str(), 1);
    const Outcome made = create_segment({}, mapping_, path_);
    ASSERT_TRUE(made) << made.why();
  }
  void TearDown() override {
    if (mapping_.header == nullptr) return;
    end_guard(mapping_);
    unmap_segment(mapping_);
    ::unlink(path_);
    ::unsetenv("KYMO_SHM_DIR");
    ::rmdir((folder_ + "/kymo-" + std::to_string(::geteuid())).c_str());
    ::rmdir(folder_.c_str());
  }

  std::string folder_;
  Mapping mapping_;
  char path_[kSegmentPathBytes];
};

TEST_F(CutGuardTest, ATruncatedSegmentIsReplacedByPrivateMemory) {
  guard_against_cuts(mapping_, Side::Program);
  ASSERT_TRUE(allocate_slot(mapping_, path_, 0));
  const uint32_t ring_cells = mapping_.header->ring_cells;
  Slot& slot = slot_page(mapping_.header, 0)->slot;
  slot.cells = slot_cells(mapping_.header, 0);
  EXPECT_FALSE(was_cut(mapping_));
  ASSERT_EQ(::ftruncate(mapping_.fd, 0), 0);
  EXPECT_TRUE(was_cut(mapping_));
  slot.head.store(7);
  EXPECT_EQ(slot.head.load(), 7u);
  EXPECT_EQ(slot.mask, ring_cells - 1) << "a store that is on its way ends in the ring";
  slot.cells[slot.mask].time.store(1);
  EXPECT_EQ(mapping_.header->closed.load(), 1u);
}

TEST_F(CutGuardTest, ACollectorReadsNothingAfterTruncation) {
  guard_against_cuts(mapping_, Side::Collector);
  ASSERT_EQ(::ftruncate(mapping_.fd, 0), 0);
  EXPECT_EQ(mapping_.header->slots_used.load(), 0u);
  EXPECT_TRUE(was_cut(mapping_));
}

TEST_F(CutGuardTest, OtherBusErrorsAreNotHandled) {
  guard_against_cuts(mapping_, Side::Program);
  EXPECT_EXIT(
      {
        char name[] = "/tmp/kymo-cut-XXXXXX";
        const int file = ::mkstemp(name);
        ::unlink(name);
        if (::ftruncate(file, 4096) != 0) ::_exit(0);
        auto* memory = static_cast<volatile char*>(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, file, 0));
        if (::ftruncate(file, 0) != 0) ::_exit(0);
        memory[0] = 1;
      },
      [](int status) {  // a sanitizer's handler, which was installed before, exits
        return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0;
      },
      "");
}

}  // namespace
}  // namespace kymo::record
