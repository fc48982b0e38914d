// The OpenCL backend if OpenCL is missing, and on the first device if there is one. Other tests check what all backends
// have in common. These tests check only OpenCL's own parts: partial launches for each language version, types, the
// log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "device/backend.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WithLibrary {
 public:
  explicit WithLibrary(const char* name) {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    setenv(kVariable, name, 1);
  }
  ~WithLibrary() {
    if (before_)
      setenv(kVariable, before_->c_str(), 1);
    else
      unsetenv(kVariable);
  }

 private:
  static constexpr const char* kVariable = "KYMO_OPENCL_LIBRARY";
  std::optional<std::string> before_;
};

std::string why_absent(const char* library) {
  const WithLibrary with(library);
  try {
    load_opencl();
  } catch (const NotAvailable& absent) {
    return absent.what();
  }
  return "it is there";
}

TEST(OpenClAbsentTest, AMissingLibraryIsNamedWithThePackage) {
  EXPECT_THAT(why_absent("/nowhere/libOpenCL.so.1"),
              AllOf(HasSubstr("/nowhere/libOpenCL.so.1"), HasSubstr("ocl-icd-libopencl1"), Not(HasSubstr("\n"))));
}

TEST(OpenClAbsentTest, FileThatIsNotALibraryIsNamed) {
  EXPECT_THAT(why_absent("/etc/passwd"), AllOf(HasSubstr("/etc/passwd"), HasSubstr("unset KYMO_OPENCL_LIBRARY")));
}

TEST(OpenClAbsentTest, LibraryWithoutItsFunctionsIsRejected) {
  EXPECT_THAT(why_absent("libm.so.6"), AllOf(HasSubstr("libm.so.6"), HasSubstr("clGetPlatformIDs")));
}

class OpenClTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      driver_ = load_opencl();
    } catch (const NotAvailable& absent) {
      GTEST_SKIP() << absent.what();
    }
    device_ = driver_->open(0);
    queue_ = device_->make_queue();
  }
  void TearDown() override {
    queue_.reset();
    for (const Address block : blocks_) device_->release(block, kBlock);
  }

  std::unique_ptr<Program> compile(std::string_view text, std::vector<std::string> options = {}) {
    return device_->compile({Language::OpenClC, text, std::move(options), "test.cl", {}, {}});
  }
  Address zeroed_block() {
    const Address block = device_->allocate(kBlock);
    EXPECT_NE(block, 0u);
    const uint32_t zero = 0;
    queue_->fill(block, &zero, sizeof zero, kBlock, nullptr);
    blocks_.push_back(block);
    return block;
  }
  std::vector<uint32_t> contents(Address from, size_t count) {
    std::vector<uint32_t> words(count);
    queue_->download(from, words.data(), count * sizeof(uint32_t), nullptr);
    return words;
  }
  static Argument buffer(Address address) { return {nullptr, 0, address, kBlock}; }
  template <class T>
  static Argument value(const T& v) {
    return {&v, sizeof v, 0, 0};
  }
  void launch(const Program& program, Extent threads, Extent group, std::vector<Argument> arguments,
              Ticket* ticket = nullptr) {
    Launch launch;
    launch.program = &program;
    launch.threads = threads;
    launch.group = group;
    launch.arguments = arguments;
    queue_->launch(launch, ticket);
  }

  static constexpr size_t kBlock = 1 << 16;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Accelerator> device_;
  std::unique_ptr<Queue> queue_;
  std::vector<Address> blocks_;
};

TEST_F(OpenClTest, MissingDeviceIsRefused) {
  EXPECT_THROW(driver_->open(driver_->device_count()), InvalidArgument);
  EXPECT_THROW(driver_->describe(-1), InvalidArgument);
}

TEST_F(OpenClTest, ADeviceDescribesItself) {
  const DeviceInfo& info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.uuid.size(), 32u);
  EXPECT_EQ(info.uuid, driver_->describe(0).uuid);
  EXPECT_GT(info.recommended_max, 0u);
  EXPECT_LE(info.recommended_max, info.total_memory);
  EXPECT_GT(info.max_group_threads, 0u);
  EXPECT_EQ(info.languages, std::vector{Language::OpenClC});
}

// Every thread writes what it sees of the launch. The launch has two dimensions, both with edges.
TEST_F(OpenClTest, KernelsInPartialLaunchesSeeTheWholeLaunch) {
  const auto program = compile(R"(
    kernel void look(global uint* out) {
      local uint in_group;
      if (get_local_id(0) == 0 && get_local_id(1) == 0) in_group = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      atomic_inc(&in_group);
      barrier(CLK_LOCAL_MEM_FENCE);
      global uint* mine = out + 8 * (get_global_id(1) * get_global_size(0) + get_global_id(0));
      atomic_inc(mine);
      mine[1] = get_group_id(0); mine[2] = get_group_id(1);
      mine[3] = get_num_groups(0); mine[4] = get_num_groups(1);
      mine[5] = get_global_size(1); mine[6] = get_global_offset(0) + get_global_offset(1);
      mine[7] = in_group;
    })");
  const Extent threads{21, 7, 1}, group{8, 4, 1};
  const Address out = zeroed_block();
  launch(*program, threads, group, {buffer(out)});
  const auto seen = contents(out, threads.volume() * 8);
  for (uint64_t y = 0; y < threads.y; ++y) {
    for (uint64_t x = 0; x < threads.x; ++x) {
      const std::vector<uint64_t> mine(seen.begin() + static_cast<ptrdiff_t>(8 * (y * threads.x + x)),
                                       seen.begin() + static_cast<ptrdiff_t>(8 * (y * threads.x + x) + 8));
      const uint64_t wide = x < 16 ? 8 : 5, high = y < 4 ? 4 : 3;
      EXPECT_EQ(mine, (std::vector<uint64_t>{1, x / 8, y / 4, 3, 2, 7, 0, wide * high})) << x << " " << y;
    }
  }
  EXPECT_EQ(contents(out + threads.volume() * 32, 1)[0], 0u);
}

TEST_F(OpenClTest, RequiredGroupMayBePartial) {
  const auto program = compile(
      "kernel __attribute__((reqd_work_group_size(16, 1, 1))) void f(global uint* o) { o[get_global_id(0)] = "
      "get_local_size(0); }");
  EXPECT_EQ(program->kernels()[0].required_group, (Extent{16, 1, 1}));
  const Address out = zeroed_block();
  launch(*program, {20, 1, 1}, {16, 1, 1}, {buffer(out)});
  const auto seen = contents(out, 21);
  EXPECT_EQ(seen[15], 16u);
  EXPECT_EQ(seen[16], 4u);
  EXPECT_EQ(seen[20], 0u);
}

TEST_F(OpenClTest, StructuresAndTypedefsTakeBytes) {
  const auto program = compile(R"(
    typedef uint index_t;
    struct Settings { float scale; int table[70]; };
    kernel void f(global float* out, index_t n, struct Settings settings, local int* scratch) {
      out[0] = n + settings.scale + settings.table[69]; })");
  const auto& parameters = program->kernels()[0].parameters;
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(parameters[0].name, "out");
  EXPECT_EQ(parameters[1].kind, ParameterKind::Unknown);
  EXPECT_EQ(parameters[2].kind, ParameterKind::Unknown);
  EXPECT_EQ(parameters[2].bytes, 0u);
  EXPECT_EQ(parameters[3].kind, ParameterKind::Local);

  struct {
    float scale = 0.5f;
    int table[70] = {};
  } settings;
  settings.table[69] = 30;
  const uint32_t n = 4;
  const Address out = zeroed_block();
  launch(*program, {1, 1, 1}, {1, 1, 1}, {buffer(out), value(n), value(settings), Argument{nullptr, 64, 0, 0}});
  float result = 0;
  queue_->download(out, &result, sizeof result, nullptr);
  EXPECT_EQ(result, 34.5f);
}

TEST_F(OpenClTest, KernelWithAnImageCompilesAndItsLaunchIsRefused) {
  const auto program = compile("kernel void f(read_only image2d_t picture, global int* o) { o[0] = 1; }");
  EXPECT_THROW(launch(*program, {1, 1, 1}, {1, 1, 1}, {{}, buffer(zeroed_block())}), InvalidArgument);
}

TEST_F(OpenClTest, CompileErrorHasItsPositionInTheUsersText) {
  try {
    compile("// one\nkernel void f(global int* o) {\n  o[0] = nothing;\n}\n");
    FAIL() << "it compiled";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.file(), "test.cl");
    EXPECT_EQ(error.line(), 3u);
    EXPECT_EQ(error.column(), 10u);
    EXPECT_THAT(error.text(), HasSubstr("nothing"));
    EXPECT_THAT(error.what(), HasSubstr(error.text()));
  }
}

TEST_F(OpenClTest, UnknownOptionIsACompileError) {
  EXPECT_THROW(compile("kernel void f(global int* o) { o[0] = 1; }", {"-no-such-option-at-all"}), CompileError);
}

TEST_F(OpenClTest, BinaryRunsPartialLaunches) {
  const auto program = compile("kernel void f(global uint* o) { o[get_global_id(0)] = get_group_id(0) + 1; }");
  const std::vector<KernelInfo> kernels(program->kernels().begin(), program->kernels().end());
  const std::vector<std::byte> binary = program->binary();
  ASSERT_FALSE(binary.empty());
  const auto loaded = device_->load(binary, kernels);
  ASSERT_NE(loaded, nullptr);
  const Address out = zeroed_block();
  launch(*loaded, {5, 1, 1}, {2, 1, 1}, {buffer(out)});
  EXPECT_EQ(contents(out, 6), (std::vector<uint32_t>{1, 1, 2, 2, 3, 0}));
  EXPECT_EQ(device_->load(std::span(binary).first(3), kernels), nullptr);
}

TEST_F(OpenClTest, QueueKeepsItsOrderWhenTimingStarts) {
  const auto program = compile("kernel void f(global uint* o, uint n) { o[0] = o[0] * 3 + n; }");
  const Address out = zeroed_block();
  uint32_t expected = 0;
  Ticket ticket = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    launch(*program, {1, 1, 1}, {1, 1, 1}, {buffer(out), value(i)}, i == 100 ? &ticket : nullptr);
    expected = expected * 3 + i;
  }
  EXPECT_EQ(contents(out, 1)[0], expected);
  queue_->synchronize();
  Timing timing;
  EXPECT_EQ(queue_->redeem(ticket, timing), Redeemed::Done);
  EXPECT_EQ(queue_->redeem(ticket, timing), Redeemed::Lost);  // the ticket no longer exists
}

TEST_F(OpenClTest, ArgumentIsSetAgainAfterMemoryWasReleased) {
  const auto program = compile("kernel void f(global uint* o, uint n) { o[get_global_id(0)] = n; }");
  const uint32_t one = 1, two = 2;
  for (int round = 0; round < 20; ++round) {  // the driver usually returns the same address again
    const Address block = device_->allocate(4096);
    launch(*program, {4, 1, 1}, {4, 1, 1}, {buffer(block), value(one)});
    launch(*program, {2, 1, 1}, {2, 1, 1}, {buffer(block), value(two)});
    EXPECT_EQ(contents(block, 4), (std::vector<uint32_t>{2, 2, 1, 1}));
    device_->release(block, 4096);
  }
}

TEST_F(OpenClTest, ThreadsLaunchOneKernelConcurrentlyWithTheirOwnArguments) {
  const auto program = compile("kernel void f(global uint* o, uint n) { o[get_global_id(0)] += n; }");
  const auto work = [&](uint32_t id, uint32_t& sum) {
    const auto queue = device_->make_queue();
    const Address block = device_->allocate(kBlock);
    const uint32_t zero = 0;
    queue->fill(block, &zero, 4, 256, nullptr);
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t n = i * 16 + id;
      const Argument arguments[] = {buffer(block), value(n)};
      Launch launch{program.get(), 0, {32, 1, 1}, {32, 1, 1}, arguments, {}};
      queue->launch(launch, nullptr);
    }
    queue->download(block + 31 * sizeof sum, &sum, sizeof sum, nullptr);
    device_->release(block, kBlock);
  };
  uint32_t sums[4] = {};
  std::vector<std::thread> threads;
  for (uint32_t id = 0; id < 4; ++id) threads.emplace_back(work, id, std::ref(sums[id]));
  for (std::thread& thread : threads) thread.join();
  for (uint32_t id = 0; id < 4; ++id) EXPECT_EQ(sums[id], 299u * 300 / 2 * 16 + 300 * id);
}

TEST_F(OpenClTest, TimesAreBetweenReadingsOfTheHostsClock) {
  const auto program = compile("kernel void f(global uint* o) { o[0] += 1; }");
  const Address out = zeroed_block();
  launch(*program, {1, 1, 1}, {1, 1, 1}, {buffer(out)});
  queue_->synchronize();
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  for (int i = 0; i < 20; ++i) {
    const base::ClockPair reading = device_->read_clock();
    Ticket ticket = 0;
    const int64_t before = now();
    launch(*program, {1, 1, 1}, {1, 1, 1}, {buffer(out)}, &ticket);
    queue_->synchronize();
    const int64_t after = now();
    Timing timing;
    ASSERT_EQ(queue_->redeem(ticket, timing), Redeemed::Done);
    const auto offset = static_cast<int64_t>(reading.monotonic_ns - reading.ticks);
    const auto error = static_cast<int64_t>(reading.error_ns) + 1000;
    EXPECT_GE(static_cast<int64_t>(timing.start) + offset, before - error);
    EXPECT_LE(static_cast<int64_t>(timing.end) + offset, after + error);
    EXPECT_LE(timing.start, timing.end);
  }
}

}  // namespace
}  // namespace kymo::device::opencl
