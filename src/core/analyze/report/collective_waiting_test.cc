#include <gtest/gtest.h>

#include "analyze/report/collective_calls.h"

namespace kymo::analyze {
namespace {

TEST(CollectiveWaitingTest, EveryRankWaitsForEveryOtherOneWithoutARoot) {
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclAllReduceRingLLKernel_sum_f32", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
        "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", "allreduce_coalesced", "_allgather_base",
        "_reduce_scatter_base", "all_gather_into_tensor_coalesced", "all_to_allv", "AlltoAll", "barrier"})
    EXPECT_EQ(waiting_in(name), Waiting::ForAll) << name;
}

TEST(CollectiveWaitingTest, RanksDoNotWaitForEachOtherInCallsWithARootAndSends) {
  for (const char* name :
       {"ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclBroadcastRingLLKernel_copy_i8",
        "ncclKernel_Reduce_RING_LL_Sum_float(ncclWorkElem)", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        "broadcast", "_broadcast_oop", "_reduce_oop", "gather", "scatter", "send", "recv", "Recv"})
    EXPECT_EQ(waiting_in(name), Waiting::NotForAll) << name;
}

TEST(CollectiveWaitingTest, AKernelForAllCollectivesDoesNotSayIt) {
  for (const char* name : {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic",
                           "rcclKernel(ReduceArgs)", "record_param_comms", "wait", ""})
    EXPECT_EQ(waiting_in(name), Waiting::Unknown) << name;
}

TEST(CollectiveWaitingTest, TheNameOfTheCollectiveDecidesForAKernelOfSeveral) {
  EXPECT_EQ(waiting_in("ncclDevKernel_Generic_4", "allreduce"), Waiting::ForAll);
  EXPECT_EQ(waiting_in("ncclDevKernel_Generic_4", "broadcast"), Waiting::NotForAll);
  EXPECT_EQ(waiting_in("ncclDevKernel_Generic_4", "record_param_comms"), Waiting::Unknown);
  EXPECT_EQ(waiting_in("ncclDevKernel_AllReduce_Sum", "_reduce_oop"), Waiting::NotForAll);
  EXPECT_EQ(waiting_in("ncclDevKernel_AllReduce_Sum", "coalesced"), Waiting::ForAll);
  EXPECT_EQ(waiting_in("ncclDevKernel_SendRecv", "all_to_all"), Waiting::ForAll);
  EXPECT_EQ(waiting_in("ncclDevKernel_SendRecv", "gather"), Waiting::NotForAll);
  EXPECT_EQ(waiting_in("ncclDevKernel_Broadcast_RING_LL", "allgather"), Waiting::NotForAll);
}

}  // namespace
}  // namespace kymo::analyze
