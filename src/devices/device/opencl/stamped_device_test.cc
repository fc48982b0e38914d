// Kernels that report their times themselves, on a real device: NVIDIA's OpenCL. The kernels read the timer too, so the
// times can be compared with what they read. Skipped on all other devices.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_wait.h"
#include "device/opencl/program.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

// Every thread stores when it starts and when it ends, at least `ns` later.
constexpr std::string_view kSpin = R"(
  ulong timer(void) { ulong time; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)); return time; }
  kernel void spin(global ulong* times, ulong ns) {
    const ulong first = timer();
    ulong last = timer();
    while (last - first < ns) last = timer();
    times[2 * get_global_id(0)] = first;
    times[2 * get_global_id(0) + 1] = last;
  })";

class StampedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      driver_ = load_opencl();
    } catch (const NotAvailable& absent) {
      GTEST_SKIP() << absent.what();
    }
    for (int i = 0; i < driver_->device_count() && device_ == nullptr; ++i)
      if (driver_->describe(i).driver.find(" CUDA ") != std::string::npos) device_ = driver_->open(i);  // of NVIDIA
    if (device_ == nullptr)
      GTEST_SKIP() << "only NVIDIA's OpenCL has kernels that store their own times; the first device here is "
                   << driver_->describe(0).name;
    queue_ = device_->make_queue();
    times_ = device_->allocate(kBytes);
    ASSERT_NE(times_, 0u);
    program_ = compile(kSpin);
    ASSERT_TRUE(static_cast<const OpenClProgram&>(*program_).kernel(0).takes_stamp());
  }
  void TearDown() override {
    queue_.reset();
    if (times_ != 0) device_->release(times_, kBytes);
  }

  std::unique_ptr<Program> compile(std::string_view text) {
    return device_->compile({Language::OpenClC, text, {}, "test.cl", {}, {}});
  }

  Ticket spin(const Program& program, uint64_t threads, uint64_t group, uint64_t ns) {
    const Argument arguments[] = {{nullptr, 0, times_, kBytes}, {&ns, sizeof ns, 0, 0}};
    Ticket ticket = 0;
    queue_->launch({&program, 0, {threads, 1, 1}, {group, 1, 1}, arguments, {}}, &ticket);
    return ticket;
  }

  Timing redeemed(Ticket ticket) {
    Timing timing;
    Redeemed result = Redeemed::Pending;
    base::wait_until("the launch", [&] { return (result = queue_->redeem(ticket, timing)) != Redeemed::Pending; });
    EXPECT_EQ(result, Redeemed::Done);
    return timing;
  }

  std::vector<uint64_t> times(uint64_t threads) {
    std::vector<uint64_t> times(2 * threads);
    queue_->download(times_, times.data(), times.size() * sizeof(uint64_t), nullptr);
    return times;
  }

  // The start is before what the first thread has read, and the end after what any thread has read. Threads of other
  // groups may start some hundred nanoseconds before the first.
  void expect_around(const Timing& timing, uint64_t threads) {
    const std::vector<uint64_t> read = times(threads);
    EXPECT_LE(timing.start, read[0]);
    EXPECT_GE(timing.end, *std::max_element(read.begin(), read.end()));
  }

  static constexpr size_t kBytes = size_t{1} << 28;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Accelerator> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Program> program_;
  Address times_ = 0;
};

TEST_F(StampedDeviceTest, TimeOfALaunchIsWhatItsThreadsRead) {
  for (const uint64_t threads : {1, 64, 19'200, 102'400, 1'024'000}) {  // with one word, and with several
    const Ticket ticket = spin(*program_, threads, threads == 1 ? 1 : 64, 20'000);
    expect_around(redeemed(ticket), threads);
  }
}

TEST_F(StampedDeviceTest, TimeOfALaunchWithAPartialGroupIncludesAllPieces) {
  const Ticket ticket = spin(*program_, 300, 256, 20'000);
  expect_around(redeemed(ticket), 300);
}

TEST_F(StampedDeviceTest, TimeOfAVeryLargeLaunchIncludesAllThreads) {
  constexpr uint64_t kThreads = uint64_t{1} << 23, kMore = 256;  // above what stamps measure alone
  const Ticket ticket = spin(*program_, kThreads + kMore, 256, 0);
  expect_around(redeemed(ticket), kThreads + kMore);
}

TEST_F(StampedDeviceTest, LaunchesAndFillsOfOneQueueDoNotOverlap) {
  std::vector<Ticket> tickets;
  for (int i = 0; i < 600; ++i) {
    tickets.push_back(spin(*program_, 64, 32, 1'000));
    if (i % 100 != 0) continue;
    const uint32_t zero = 0;
    queue_->fill(times_, &zero, sizeof zero, 4096, &tickets.emplace_back());
  }
  queue_->synchronize();
  uint64_t end = 0;
  for (const Ticket ticket : tickets) {
    const Timing timing = redeemed(ticket);
    EXPECT_GE(timing.start, end);
    EXPECT_GE(timing.end, timing.start);
    end = timing.end;
  }
}

TEST_F(StampedDeviceTest, StoredProgramKeepsItsStamps) {
  const std::vector<KernelInfo> kernels(program_->kernels().begin(), program_->kernels().end());
  const auto loaded = device_->load(program_->binary(), kernels);
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(static_cast<const OpenClProgram&>(*loaded).kernel(0).takes_stamp());
  const Ticket ticket = spin(*loaded, 64, 32, 5'000);
  expect_around(redeemed(ticket), 64);
}

TEST_F(StampedDeviceTest, KernelsWithEveryKindOfParameterAreStamped) {
  const auto program = compile(R"(
    struct Settings { float scale; int table[70]; };
    kernel void many(global float* out, local float* l, constant int* k, char c, double d, float4 v,
                     struct Settings s) {
      l[get_local_id(0)] = get_local_id(0);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (get_global_id(0) > 7) return;
      out[get_global_id(0)] = l[get_local_size(0) - 1] + k[0] + c + (float)d + v.w + s.table[69];
    }
    kernel __attribute__((reqd_work_group_size(16, 1, 1))) void required(global uint* o) { o[get_global_id(0)] = 1; }
    kernel void picture(read_only image2d_t image, sampler_t sampler, global float* o) {
      o[0] = read_imagef(image, sampler, (float2)(0.5f, 0.5f)).x;
    })");
  const auto& own = static_cast<const OpenClProgram&>(*program);
  ASSERT_EQ(own.kernels().size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(own.kernel(i).takes_stamp());
  struct {
    float scale = 0;
    int table[70] = {};
  } settings;
  settings.table[69] = 1000;
  const char c = 3;
  const double d = 20;
  const float v[4] = {0, 0, 0, 400};
  const int k = 50'000;
  queue_->upload(&k, times_ + 4096, sizeof k, nullptr);
  const Argument arguments[] = {{nullptr, 0, times_, kBytes},
                                {nullptr, 64 * sizeof(float), 0, 0},
                                {nullptr, 0, times_ + 4096, kBytes - 4096},
                                {&c, sizeof c, 0, 0},
                                {&d, sizeof d, 0, 0},
                                {v, sizeof v, 0, 0},
                                {&settings, sizeof settings, 0, 0}};
  Ticket ticket = 0;
  queue_->launch({program.get(), 0, {64, 1, 1}, {64, 1, 1}, arguments, {}}, &ticket);
  redeemed(ticket);
  float result = 0;
  queue_->download(times_, &result, sizeof result, nullptr);
  EXPECT_EQ(result, 51'486.0f);
}

}  // namespace
}  // namespace kymo::device::opencl
