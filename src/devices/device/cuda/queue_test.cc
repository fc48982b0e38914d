#include "device/cuda/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/cuda/program.h"
#include "device/cuda/test_fake_driver.h"
#include "device/ptx/ptx.h"

namespace kymo::device::cuda {
namespace {

constexpr int64_t kOffset = 1'000;

class CudaTicketsTest : public ::testing::Test {
 protected:
  CudaTicketsTest() { fake_.memory_is_real = true; }

  // Does what a kernel of one group does.
  Ticket run(uint64_t warps, uint64_t start, uint64_t end) {
    const auto stamp = tickets_.take_stamp(warps);
    EXPECT_TRUE(stamp);
    *reinterpret_cast<uint64_t*>(stamp->start) = start;
    if (stamp->ends != 0) *reinterpret_cast<uint64_t*>(stamp->ends) = end;
    return tickets_.stamped(*stamp, warps);
  }

  Redeemed settle(Ticket ticket, Timing& timing) {
    Redeemed redeemed = Redeemed::Pending;
    for (int i = 0; i < 3 && redeemed == Redeemed::Pending; ++i) redeemed = tickets_.redeem(ticket, timing);
    return redeemed;
  }

  long calls(const char* name) const { return std::count(fake_.calls.begin(), fake_.calls.end(), name); }

  FakeDriver fake_;
  Api api_ = fake_.api();
  Context context_{api_, 0, reinterpret_cast<CUcontext>(0x1)};
  EventClock clock_{context_};
  TimerOffset timer_{context_, clock_, kOffset};
  Tickets tickets_{context_, clock_, timer_, reinterpret_cast<CUstream>(0x5)};
};

TEST_F(CudaTicketsTest, ManyKernelsAreReadByOneEventAndOneCopy) {
  std::vector<Ticket> tickets;
  for (uint64_t i = 0; i < 100; ++i) tickets.push_back(run(1, 10'000 + 100 * i, 10'050 + 100 * i));
  const long events = calls("event_record"), copies = calls("copy_to_host");
  for (uint64_t i = 0; i < 100; ++i) {
    Timing timing;
    ASSERT_EQ(settle(tickets[i], timing), Redeemed::Done);
    EXPECT_EQ(timing.start, 9'000 + 100 * i);
    EXPECT_EQ(timing.end, 9'050 + 100 * i);
  }
  EXPECT_EQ(calls("event_record") - events, 2) << "after the launches, and after the copy";
  EXPECT_EQ(calls("copy_to_host") - copies, 1);
}

TEST_F(CudaTicketsTest, KernelThatHasNotRunIsPending) {
  const Ticket ticket = run(1, 10'000, 10'050);
  fake_.busy = true;
  Timing timing;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tickets_.redeem(ticket, timing), Redeemed::Pending);
  fake_.busy = false;
  EXPECT_EQ(settle(ticket, timing), Redeemed::Done);
}

TEST_F(CudaTicketsTest, EndOfALaunchOfVeryManyWarpsComesFromAnEvent) {
  for (int i = 0; i < 2; ++i) {
    const uint64_t ticks = 1'000'000'000 + 100'000u * static_cast<unsigned>(i);  // the clock starts with 1 s
    fake_.timer_ns += i == 0 ? 64'000 : 100'000;
    const Ticket ticket = run(1'000'000, ticks + kOffset, 0);
    Timing timing;
    ASSERT_EQ(settle(ticket, timing), Redeemed::Done);
    EXPECT_EQ(timing.end - timing.start, 64'000u);
  }
}

TEST_F(CudaTicketsTest, FailedDeviceLosesPendingKernels) {
  const Ticket first = run(1, 10'000, 10'050), second = run(5'000, 20'000, 20'050);
  fake_.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
  Timing timing;
  EXPECT_THROW(tickets_.redeem(first, timing), DeviceError) << "the event cannot be recorded";
  fake_.failure = CUDA_SUCCESS;
  fake_.busy = true;
  EXPECT_EQ(tickets_.redeem(first, timing), Redeemed::Pending);
  fake_.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(tickets_.redeem(first, timing), Redeemed::Lost);
  EXPECT_EQ(tickets_.redeem(second, timing), Redeemed::Lost);
}

class CudaQueueTest : public ::testing::Test {
 protected:
  static KernelInfo kernel_with(size_t values, bool local) {
    KernelInfo kernel;
    kernel.parameters.resize(values + (local ? 1 : 0));
    if (local) kernel.parameters.back().kind = ParameterKind::Local;
    return kernel;
  }

  void make_program(size_t values, bool local = false) {
    program_ =
        CudaProgram::load(context_, {"kernel"}, false, std::vector<std::byte>(1), {kernel_with(values, local)}, true);
    ASSERT_NE(program_, nullptr);
    fake_.parameter_count = values + 1;
  }

  void make_program(const KernelInfo& kernel) {
    program_ = CudaProgram::load(context_, {"kernel"}, false, std::vector<std::byte>(1), {kernel}, true);
    ASSERT_NE(program_, nullptr);
  }

  Launch launch(Extent threads, Extent group, std::span<const Argument> arguments) {
    Launch launch;
    launch.program = program_.get();
    launch.threads = threads;
    launch.group = group;
    launch.arguments = arguments;
    return launch;
  }

  long calls(const char* name) const { return std::count(fake_.calls.begin(), fake_.calls.end(), name); }

  FakeDriver fake_;
  Api api_ = fake_.api();
  Context context_{api_, 0, reinterpret_cast<CUcontext>(0x1)};
  EventClock clock_{context_};
  PatternFill fill_{context_};
  TimerOffset timer_{context_, clock_};
  CudaQueue queue_{context_, clock_, timer_, fill_, false};
  std::unique_ptr<CudaProgram> program_;
};

TEST_F(CudaQueueTest, StreamsOfOtherLibrariesAreOrderedWithOneEvent) {
  static std::vector<std::pair<std::string, CUstream>> seen;
  seen.clear();
  const auto own = reinterpret_cast<CUstream>(queue_.native_handle()), theirs = reinterpret_cast<CUstream>(0x77);
  api_.event_record = [](CUevent, CUstream stream) {
    seen.emplace_back("record", stream);
    return CUDA_SUCCESS;
  };
  api_.stream_wait = [](CUstream stream, CUevent, unsigned) {
    seen.emplace_back("wait", stream);
    return CUDA_SUCCESS;
  };
  const long events_before = calls("event_create");
  EXPECT_TRUE(queue_.follow(0x77));
  EXPECT_TRUE(queue_.precede(0x77));
  EXPECT_TRUE(queue_.precede(queue_.native_handle()));  // it is in order with itself
  EXPECT_TRUE(queue_.follow(queue_.native_handle()));
  EXPECT_THAT(seen, testing::ElementsAre(testing::Pair("record", theirs), testing::Pair("wait", own),
                                         testing::Pair("record", own), testing::Pair("wait", theirs)));
  EXPECT_EQ(calls("event_create") - events_before, 1);
}

TEST_F(CudaQueueTest, LaunchPassesAddressesValuesAndTheEdge) {
  make_program(2);
  const float value = 2.5f;
  std::vector<Argument> arguments(2);
  arguments[0].address = 0x1234'5678'9000;
  arguments[1].data = &value;
  arguments[1].bytes = sizeof value;
  struct Seen {
    uint64_t address;
    float value;
    Edge edge;
  };
  static Seen seen;
  api_.launch = [](CUfunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned, unsigned, unsigned,
                   CUstream, void** parameters, void**) {
    EXPECT_EQ(gx, 4u);
    EXPECT_EQ(gy, 1u);
    EXPECT_EQ(gz, 1u);
    EXPECT_EQ(bx, 256u);
    seen = {*static_cast<uint64_t*>(parameters[0]), *static_cast<float*>(parameters[1]),
            *static_cast<Edge*>(parameters[2])};
    return CUDA_SUCCESS;
  };
  queue_.launch(launch({1000, 1, 1}, {256, 1, 1}, arguments), nullptr);
  EXPECT_EQ(seen.address, 0x1234'5678'9000u);
  EXPECT_EQ(seen.value, 2.5f);
  EXPECT_EQ(seen.edge.partial, 1u);
  EXPECT_EQ(seen.edge.last[0], 3u);
  EXPECT_EQ(seen.edge.threads[0], 232u);
}

TEST_F(CudaQueueTest, GroupMemoryOfTheCallerIsNotAParameter) {
  make_program(1, true);
  std::vector<Argument> arguments(2);
  arguments[1].bytes = 100'000;
  queue_.launch(launch({64, 1, 1}, {64, 1, 1}, arguments), nullptr);
  ASSERT_EQ(fake_.launches.size(), 1u);
  EXPECT_EQ(fake_.launches[0].shared_bytes, 100'000u);
  EXPECT_EQ(calls("function_set"), 1) << "beyond 48 KiB it must be asked for in advance";
}

TEST_F(CudaQueueTest, GroupMemoryOfATranslatedKernelIsPassedAsOffsets) {
  KernelInfo kernel;
  kernel.is_translated = true;
  kernel.parameters.resize(3);
  kernel.parameters[0].kind = kernel.parameters[2].kind = ParameterKind::Local;
  make_program(kernel);
  std::vector<Argument> arguments(3);
  arguments[0].bytes = 20;
  arguments[1].address = 0x1000;
  arguments[2].bytes = 4;
  static std::array<uint32_t, 2> offsets;
  api_.launch = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, CUstream,
                   void** parameters, void**) {
    EXPECT_EQ(shared, 48u);
    EXPECT_EQ(*static_cast<uint64_t*>(parameters[1]), 0x1000u);
    offsets = {*static_cast<uint32_t*>(parameters[0]), *static_cast<uint32_t*>(parameters[2])};
    return CUDA_SUCCESS;
  };
  queue_.launch(launch({64, 1, 1}, {64, 1, 1}, arguments), nullptr);
  EXPECT_EQ(offsets, (std::array<uint32_t, 2>{0, 32}));
  EXPECT_EQ(calls("function_set"), 1);
}

TEST_F(CudaQueueTest, OwnGroupMemoryOfATranslatedKernelIsFollowedBySpareBytes) {
  static int own;
  api_.function_attribute = [](int* value, CUfunction_attribute asked, CUfunction) {
    *value = asked == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? own : 1024;
    return CUDA_SUCCESS;
  };
  const auto spare = [&](bool is_translated, int bytes) {
    KernelInfo kernel;
    kernel.is_translated = is_translated;
    kernel.group_memory = static_cast<size_t>(own = bytes);
    make_program(kernel);
    queue_.launch(launch({64, 1, 1}, {64, 1, 1}, {}), nullptr);
    return fake_.launches.back().shared_bytes;
  };
  EXPECT_EQ(spare(true, 8192), 16u);
  EXPECT_EQ(spare(true, 0), 0u);
  EXPECT_EQ(spare(true, 48 << 10), 0u) << "more would have to be asked for";
  EXPECT_EQ(spare(false, 8192), 0u) << "a kernel in CUDA C++ is launched as it is";
}

TEST_F(CudaQueueTest, LaunchIsSplitIfLanesOfSimdgroupsWouldBeOutOfOrder) {
  KernelInfo kernel;
  kernel.is_translated = kernel.uses_simdgroups = kernel.takes_grid = true;
  make_program(kernel);
  struct Seen {
    std::array<unsigned, 2> groups, group;
    Grid grid;
    Edge edge;
  };
  static std::vector<Seen> seen;
  seen.clear();
  api_.launch = [](CUfunction, unsigned gx, unsigned gy, unsigned, unsigned bx, unsigned by, unsigned, unsigned,
                   CUstream, void** parameters, void**) {
    seen.push_back({{gx, gy}, {bx, by}, *static_cast<Grid*>(parameters[0]), *static_cast<Edge*>(parameters[1])});
    return CUDA_SUCCESS;
  };
  queue_.launch(launch({1000, 1, 1}, {256, 1, 1}, {}), nullptr);
  ASSERT_EQ(seen.size(), 1u) << "what one row lacks is at its end";
  EXPECT_EQ(seen[0].edge.partial, 1u);
  EXPECT_EQ(seen[0].grid.threads[0], 1000u);

  seen.clear();
  queue_.launch(launch({20, 9, 1}, {16, 4, 1}, {}), nullptr);
  ASSERT_EQ(seen.size(), 4u);
  for (const Seen& piece : seen) {
    EXPECT_EQ(piece.edge.partial, 0u);
    EXPECT_EQ(piece.grid.threads, (std::array<uint32_t, 3>{20, 9, 1}));
    EXPECT_EQ(piece.grid.group, (std::array<uint32_t, 3>{16, 4, 1}));
  }
  EXPECT_EQ(seen[3].group, (std::array<unsigned, 2>{4, 1}));
  EXPECT_EQ(seen[3].grid.offset, (std::array<uint32_t, 3>{16, 8, 0}));
}

TEST_F(CudaQueueTest, AHundredParametersArePassed) {
  make_program(100);
  std::vector<Argument> arguments(100);
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i].address = i;
  queue_.launch(launch({1, 1, 1}, {1, 1, 1}, arguments), nullptr);
  ASSERT_EQ(fake_.launches.size(), 1u);
  EXPECT_EQ(fake_.launches[0].parameters[99], &arguments[99].address);
}

TEST_F(CudaQueueTest, TooLargeGridIsRefusedWithItsSize) {
  make_program(0);
  try {
    queue_.launch(launch({1, 70'000, 1}, {1, 1, 1}, {}), nullptr);
    FAIL() << "it was launched";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("70000"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(fake_.launches.empty());
}

TEST_F(CudaQueueTest, WithoutATicketNoEventIsRecorded) {
  make_program(0);
  const long before = calls("event_record");
  queue_.launch(launch({1, 1, 1}, {1, 1, 1}, {}), nullptr);
  EXPECT_EQ(calls("event_record"), before);
}

TEST_F(CudaQueueTest, TicketHasATimeWhenDoneAndItsEventsAreReused) {
  make_program(0);
  Ticket ticket = 0;
  fake_.timer_ns += 320;
  queue_.launch(launch({1, 1, 1}, {1, 1, 1}, {}), &ticket);
  Timing timing;
  fake_.busy = true;
  EXPECT_EQ(queue_.redeem(ticket, timing), Redeemed::Pending);
  fake_.busy = false;
  EXPECT_EQ(queue_.redeem(ticket, timing), Redeemed::Done);
  EXPECT_EQ(timing.start, timing.end);
  const size_t events = fake_.events.size();
  queue_.launch(launch({1, 1, 1}, {1, 1, 1}, {}), &ticket);
  EXPECT_EQ(fake_.events.size(), events);
}

TEST_F(CudaQueueTest, FaultIsReportedWithWhatToDoAndTicketsAreLost) {
  make_program(0);
  Ticket ticket = 0;
  queue_.launch(launch({1, 1, 1}, {1, 1, 1}, {}), &ticket);
  fake_.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
  try {
    queue_.synchronize();
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("cuStreamSynchronize"), std::string::npos) << message;
    EXPECT_NE(message.find("(700)"), std::string::npos) << message;
    EXPECT_NE(message.find("device::reset()"), std::string::npos) << message;
  }
  Timing timing;
  EXPECT_EQ(queue_.redeem(ticket, timing), Redeemed::Lost);
  EXPECT_THROW(queue_.launch(launch({1, 1, 1}, {1, 1, 1}, {}), nullptr), DeviceError);
}

TEST_F(CudaQueueTest, PatternThatRepeatsAfterFourBytesUsesThe32BitFill) {
  const uint64_t zeros = 0, mixed = 1;
  queue_.fill(0x1000, &zeros, 8, 64, nullptr);
  EXPECT_EQ(calls("fill_32"), 1);
  queue_.fill(0x1000, &zeros, 1, 64, nullptr);
  EXPECT_EQ(calls("fill_8"), 1);
  queue_.fill(0x1000, &zeros, 2, 64, nullptr);
  EXPECT_EQ(calls("fill_16"), 1);
  fake_.parameter_count = 3;
  queue_.fill(0x1000, &mixed, 8, 64, nullptr);
  EXPECT_EQ(calls("fill_32"), 1);
  EXPECT_EQ(fake_.launches.size(), 1u);
}

TEST_F(CudaQueueTest, PageableCopiesBlockIfTheDeviceAccessesPageableMemory) {
  int host = 0;
  queue_.upload(&host, 0x1000, sizeof host, nullptr);
  EXPECT_EQ(calls("stream_synchronize"), 0) << "the driver has its copy";
  CudaQueue lingering(context_, clock_, timer_, fill_, true);
  lingering.upload(&host, 0x1000, sizeof host, nullptr);
  lingering.download(0x1000, &host, sizeof host, nullptr);
  EXPECT_EQ(calls("stream_synchronize"), 2);
}

TEST_F(CudaQueueTest, PreviousContextOfTheThreadIsRestored) {
  auto* other = reinterpret_cast<CUcontext>(0x2);
  fake_.current = other;
  queue_.synchronize();
  EXPECT_EQ(fake_.current, other);
  fake_.current = nullptr;
  queue_.synchronize();
  EXPECT_EQ(fake_.current, context_.handle);
}

TEST_F(CudaQueueTest, MarkerHasATimeOnlyWithTimingAndAfterItIsReached) {
  CudaMarker plain(context_, clock_, false), timed(context_, clock_, true);
  EXPECT_TRUE(plain.reached());
  EXPECT_FALSE(timed.time());
  queue_.record(plain);
  queue_.record(timed);
  EXPECT_FALSE(plain.time());
  EXPECT_TRUE(timed.time());
  fake_.busy = true;
  EXPECT_FALSE(timed.reached());
  EXPECT_FALSE(timed.time());
}

TEST_F(CudaQueueTest, CodeThatIsRejectedOrLacksAKernelIsNotLoaded) {
  const std::vector<std::byte> code(1);
  EXPECT_EQ(CudaProgram::load(context_, {"absent"}, false, code, {kernel_with(0, false)}, false), nullptr);
  EXPECT_EQ(CudaProgram::load(context_, {}, false, code, {kernel_with(0, false)}, false), nullptr);
  fake_.module_result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  EXPECT_EQ(CudaProgram::load(context_, {"kernel"}, false, code, {kernel_with(0, false)}, false), nullptr);
  fake_.module_result = CUDA_ERROR_ASSERT;
  EXPECT_THROW(CudaProgram::load(context_, {"kernel"}, false, code, {kernel_with(0, false)}, false), DeviceError);
}

}  // namespace
}  // namespace kymo::device::cuda
