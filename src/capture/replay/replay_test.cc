// Captures of real work on each device, replayed on the same device and on all others.
#include "capture/replay/replay.h"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "capture/replay/test_folder.h"
#include "device/test_device.h"
#include "device/work_capture.h"
#include "kymo/device.h"
#include "kymo/profiler.h"

namespace kymo::capture::tests {
namespace {

using namespace kymo::device;
using device::tests::device_names;
using device::tests::test_name;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kMetal = R"(
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] += by; }
kernel void blend(device const float* a, device const float* b, device float* to, constant float& t,
                  uint i [[thread_position_in_grid]]) { to[i] = a[i] + t * (b[i] - a[i]); }
kernel void weigh(device float* x, constant float* weights, constant uint& count,
                  uint i [[thread_position_in_grid]]) { x[i] = x[i] * weights[i % count]; }
struct Rows { device float* row[3]; };
kernel void sum_rows(constant Rows& rows, device float* to, uint i [[thread_position_in_grid]]) {
  to[i] = rows.row[0][i] + rows.row[1][i] + rows.row[2][i];
}
kernel void ignore(device float* x, device const float* unused, uint i [[thread_position_in_grid]]) { x[i] = 5; }
kernel void total(device const float* x, device float* to, uint i [[thread_position_in_threadgroup]],
                  uint n [[threads_per_threadgroup]]) {
  threadgroup float part[64];
  part[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 0) { float all = 0; for (uint k = 0; k < n; ++k) all += part[k]; to[0] = all; }
}
)";

class CaptureReplayTest : public InFolder, public device::tests::OnEveryDevice {
 protected:
  CaptureReplayTest() { setenv("KYMO_CAPTURE_ENABLED", "1", 1); }

  template <class Work>
  std::string captured(Work&& work) {
    profiler::Capture capture("test");
    work();
    capture.close();
    std::string last;
    for (const auto& entry : fs::directory_iterator(".")) last = std::max(last, entry.path().filename().string());
    return last;
  }

  // Replays on each device of this machine. All results must be equal bit for bit.
  static void expect_the_same_everywhere(const std::string& folder) {
    const CaptureFile capture(folder);
    EXPECT_EQ(capture.manifest().problem, "");
    for (const std::string& name : device_names()) {
      ReplayOptions options;
      options.device = name;
      const ReplayReport report = replay(capture, options);
      EXPECT_TRUE(report.verified);
      EXPECT_GT(report.buffers_compared, 0u);
      EXPECT_EQ(report.buffers_unknown, 0u);
      for (const Mismatch& mismatch : report.mismatches) {
        ADD_FAILURE() << "on " << name << ": buffer " << mismatch.buffer << " element " << mismatch.element << " is "
                      << mismatch.now << " and was " << mismatch.then;
      }
    }
  }
};
KYMO_ON_EVERY_DEVICE(CaptureReplayTest);

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 0.25f * static_cast<float>(i);
  return values;
}

TEST_P(CaptureReplayTest, KernelsFillsAndCopies) {
  Tensor before = from_host(counting(1000));  // exists when the capture begins
  const ShaderLibrary lib = compile_shader(kMetal);
  const std::string folder = captured([&] {
    Tensor filled = full({1000}, 2.5), out = empty({1000});
    lib["add"](before, 1.5);
    lib["blend"](before, filled, out, 0.25);
    Tensor copy = out.clone();
    lib["add"](copy, -3);
    copy.copy_from<float>(counting(1000));
    lib["weigh"](copy, std::vector<float>{1, 2, 3}, 3u);
    (void)copy.to_host<float>();
  });
  const CaptureFile capture(folder);
  EXPECT_EQ(capture.manifest().calls, 8u);
  EXPECT_EQ(capture.tables().buffers.size(), 4u);
  for (size_t i = 0; i < capture.device_times().size(); ++i) EXPECT_GT(capture.device_times()[i], 0u) << "call " << i;
  expect_the_same_everywhere(folder);
}

TEST_P(CaptureReplayTest, CaptureDoesNotChangeTheProgramsResults) {
  const auto work = [] {
    const ShaderLibrary lib = compile_shader(kMetal);
    Tensor x = from_host(counting(333));
    for (int i = 0; i < 20; ++i) lib["add"](x, i);
    return x.to_host<float>();
  };
  const auto without = work();
  std::vector<float> with;
  captured([&] { with = work(); });
  EXPECT_EQ(with, without);
}

TEST_P(CaptureReplayTest, ListsOfTensorsAreRebuilt) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const std::string folder = captured([&] {
    const std::vector<Tensor> rows = {full({64}, 1), from_host(counting(64)), full({64}, 3)};
    Tensor out = zeros({64});
    lib["sum_rows"].threads(64)(rows, out);
    EXPECT_EQ(out.to_host<float>()[4], 5.0f);
  });
  expect_the_same_everywhere(folder);
}

TEST_P(CaptureReplayTest, ThreadGroupsWithSharedMemory) {
  const ShaderLibrary lib = compile_shader(kMetal);
  expect_the_same_everywhere(captured([&] {
    Tensor x = from_host(counting(64)), out = zeros({1});
    lib["total"].threads(64).group(64)(x, out);
  }));
}

TEST_P(CaptureReplayTest, RandomFillsDrawTheSameNumbers) {
  manual_seed(99);
  const std::string folder = captured([&] {
    Tensor a = empty({1001}), b = empty({1001}, DType::F16), c = empty({500}, DType::I32), d = empty({77}, DType::U8);
    uniform(a, -1, 1);
    normal(b, 2, 3);
    randint(c, -50, 50);
    bernoulli(d, 0.3);
    normal(a);
  });
  const auto state = get_rng_state();
  expect_the_same_everywhere(folder);
  EXPECT_EQ(get_rng_state(), state);
}

TEST_P(CaptureReplayTest, StridedCopiesAndViews) {
  const std::string folder = captured([&] {
    Tensor x = from_host(counting(600), {20, 30}), y = zeros({20, 30});
    y.slice(1, 0, 30, 3).copy_from(x.slice(1, 10, 20));
    x.slice(0, 5, 10).fill(9);
    x.slice(1, 3, 17, 2).fill(-1);
    (void)x.slice(1, 0, 5).to_host<float>();
    Tensor z = x.slice(1, 2, 9).contiguous();
    z.select(0, 3).copy_from(y.slice(1, 0, 7).select(0, 4));
  });
  expect_the_same_everywhere(folder);
}

TEST_P(CaptureReplayTest, FreedBuffersHaveResults) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const std::string folder = captured([&] {
    for (int i = 0; i < 30; ++i) {
      Tensor scratch = empty({256});  // its initial contents are part of the capture
      lib["add"].threads(100)(scratch, i);
    }
  });
  const CaptureFile capture(folder);
  EXPECT_EQ(capture.tables().buffers.size(), 30u);
  for (const BufferState& buffer : capture.tables().buffers) EXPECT_TRUE(buffer.freed);
  expect_the_same_everywhere(folder);
}

TEST_P(CaptureReplayTest, StreamsThatWaitForEachOther) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const std::string folder = captured([&] {
    Tensor x = from_host(counting(5000)), y = zeros({5000});
    Stream side;
    for (int i = 0; i < 20; ++i) {
      Event here, there;
      lib["add"](x, 1);
      here.record();
      here.wait(side);
      lib["blend"].on(side)(x, y, y, 0.5);
      there.record(side);
      there.wait(current_stream());
    }
    synchronize();
  });
  expect_the_same_everywhere(folder);
}

TEST_P(CaptureReplayTest, ManyThreads) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const std::string folder = captured([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        const StreamGuard on{Stream()};
        for (int round = 0; round < 5; ++round) {
          Tensor x = full({512}, t);
          for (int i = 0; i < 10; ++i) lib["add"](x, i);
          EXPECT_EQ(x.to_host<float>()[511], static_cast<float>(t) + 45);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(CaptureFile(folder).manifest().calls, 6u * 5 * 12);
  expect_the_same_everywhere(folder);
}

// A call that is running when the capture begins or ends is captured completely or not at all.
TEST_P(CaptureReplayTest, BeginsAndEndsWhileThreadsWork) {
  const ShaderLibrary lib = compile_shader(kMetal);
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const StreamGuard on{Stream()};
      Tensor kept = zeros({256});
      for (int i = 0; !enough; ++i) {
        lib["add"](kept, i % 7);
        Tensor passing = kept.clone();
        lib["add"](passing, 1);
        if (i % 10 == 0) current_stream().synchronize();
      }
    });
  }
  std::vector<std::string> folders;
  for (int i = 0; i < 5; ++i)
    folders.push_back(captured([] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }));
  enough = true;
  for (std::thread& thread : threads) thread.join();
  ReplayOptions options;
  options.device = GetParam();
  for (const std::string& folder : folders)
    EXPECT_THAT(replay(CaptureFile(folder), options).mismatches, IsEmpty()) << folder;
}

TEST_P(CaptureReplayTest, EmptyTensorsAndEmptyCaptures) {
  const std::string folder = captured([&] {
    Tensor none = empty({0}), x = zeros({4});
    none.fill(1);
    const ShaderLibrary lib = compile_shader(kMetal);
    lib["ignore"](x, none);
  });
  EXPECT_EQ(CaptureFile(folder).tables().buffers.size(), 2u);
  replay(CaptureFile(captured([] {})), {});
}

TEST_P(CaptureReplayTest, RepeatsAreTimedAndKernelsCounted) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const CaptureFile capture(captured([&] {
    Tensor x = zeros({4096});
    for (int i = 0; i < 7; ++i) lib["add"](x, i);
  }));
  ReplayOptions options;
  options.repeat = 5;
  const ReplayReport report = replay(capture, options);
  EXPECT_EQ(report.runs, 5u);
  EXPECT_EQ(report.calls, 8u);
  EXPECT_GT(report.original_ns, 0u);
  EXPECT_GT(report.replayed_ns, 0u);
  ASSERT_EQ(report.rows.size(), 2u);
  const ReplayRow& add = report.rows[report.rows[0].is_named ? 0 : 1];
  EXPECT_EQ(add.name, "add");
  EXPECT_EQ(add.calls, 7u);
  EXPECT_EQ(add.times.size(), 35u);
  EXPECT_EQ(add.original.size(), 7u);
  EXPECT_EQ(add.bytes, 7u * 4096 * 4);
  EXPECT_GT(add.gigabytes_per_second(report.runs), 0);

  options.kernel = "add";
  EXPECT_EQ(replay(capture, options).rows.size(), 1u);
  options.kernel = "other";
  EXPECT_THAT(error_of([&] { replay(capture, options); }), HasSubstr("there is no kernel \"other\""));
}

// A guard for a named operation, as signposts report it to the runtime.
class NamedOperation {
 public:
  NamedOperation(std::string_view name, double flops) {
    if (WorkCapture* capture = work_capture()) capture->begin_operation(name, flops);
  }
  ~NamedOperation() {
    if (WorkCapture* capture = work_capture()) capture->end_operation();
  }
};

TEST_P(CaptureReplayTest, NamedOperationsHaveTheirFlops) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const CaptureFile capture(captured([&] {
    Tensor x = zeros({1000});
    for (int i = 0; i < 3; ++i) {
      const NamedOperation outer("both", 2000);
      lib["add"](x, 1);
      lib["add"](x, 2);
      const NamedOperation inner("one", 0);
      lib["add"](x, 3);
    }
    lib["add"](x, 4);
  }));
  ASSERT_EQ(capture.tables().operations.size(), 6u);
  const ReplayReport report = replay(capture, {});
  ASSERT_EQ(report.operations.size(), 2u);
  for (const ReplayRow& row : report.operations) {
    EXPECT_EQ(row.calls, 3u);
    EXPECT_EQ(row.times.size(), 3u);
    EXPECT_EQ(row.original.size(), 3u);
    EXPECT_EQ(row.gigaflops(1) > 0, row.name == "both");
  }
}

TEST_P(CaptureReplayTest, DifferenceIsReportedWithItsElement) {
  const ShaderLibrary lib = compile_shader(kMetal);
  const std::string folder = captured([&] {
    Tensor x = from_host(counting(300));
    lib["add"](x, 1);
  });
  // The same calls with a different number.
  const CaptureFile right(folder);
  {
    Writer writer("wrong.kycap");
    writer.add_shader(Language::Metal, right.shader_text(0));
    std::vector<std::vector<std::byte>> pieces;
    for (uint64_t i = 0; i < right.manifest().pieces; ++i) {
      Pieces numbers;
      writer.store(right.piece(i), numbers);
    }
    right.for_each([&](Record record, const Tables&) {
      if (auto* launch = std::get_if<LaunchCall>(&record))
        launch->arguments[1] = {KernelArgument::Kind::Float, 0, {}, {}, {}};
      writer.add(record);
    });
    writer.finish(right.manifest(), right.device_times());
  }
  ReplayOptions options;
  const ReplayReport report = replay(CaptureFile("wrong.kycap"), options);
  ASSERT_EQ(report.mismatches.size(), 1u);
  const Mismatch& mismatch = report.mismatches[0];
  EXPECT_EQ(mismatch.dtype, DType::F32);
  EXPECT_EQ(mismatch.element, 0u);
  EXPECT_EQ(mismatch.then, "1");
  EXPECT_EQ(mismatch.now, "0");
  EXPECT_EQ(mismatch.differing, 300u);
  EXPECT_EQ(mismatch.elements, 300u);
  options.tolerance = 0.5;  // for values from 1 up, the relative difference is at most one half
  const ReplayReport close = replay(CaptureFile("wrong.kycap"), options);
  ASSERT_EQ(close.mismatches.size(), 1u);
  EXPECT_EQ(close.mismatches[0].differing, 4u);
  options.tolerance = 1;
  EXPECT_THAT(replay(CaptureFile("wrong.kycap"), options).mismatches, IsEmpty());
}

TEST_P(CaptureReplayTest, KernelsInABackendLanguageReplayOnlyOnThatBackend) {
  const std::string folder = captured([&] {
    Tensor x = from_host(counting(100));
    compile(device::tests::kScale)["scale"](x, 2.0f);
  });
  const CaptureFile capture(folder);
  EXPECT_THAT(replay(capture, {}).mismatches, IsEmpty());
  for (const std::string& name : device_names()) {
    if (is(name.substr(0, name.find(':')))) continue;
    ReplayOptions options;
    options.device = name;
    EXPECT_THAT(error_of([&] { replay(capture, options); }),
                AllOf(HasSubstr("kernel \"scale\" is "), HasSubstr("only Metal runs on every device")));
  }
}

// The disk is full: the program continues, the end of the capture reports the error, and no files remain.
TEST_P(CaptureReplayTest, FullDiskEndsOnlyTheCapture) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const ShaderLibrary lib = compile_shader(kMetal);
  Tensor x = empty({1 << 20});
  uniform(x);
  synchronize();
  profiler::Capture capture("full");
  const rlimit small{300'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  lib["add"](x, 1);
  x.fill(3);
  lib["add"](x, 1);
  const auto values = x.to_host<float>();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(values[12345], 4.0f);
  EXPECT_TRUE(profiler::is_capturing());
  EXPECT_THAT(error_of([&] { capture.close(); }), AllOf(HasSubstr("-full.kycap"), HasSubstr("File too large")));
  EXPECT_FALSE(profiler::is_capturing());
  EXPECT_TRUE(fs::is_empty("."));
}

}  // namespace
}  // namespace kymo::capture::tests
