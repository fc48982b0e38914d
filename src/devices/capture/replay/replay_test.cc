// Captures of real work on each device, replayed on the same device and on all others.
#include <atomic>
#include <chrono>
#include <thread>

#include "capture/replay/test_replay.h"

namespace kymo::capture::tests {
namespace {

using ::testing::IsEmpty;

KYMO_ON_EVERY_DEVICE(CaptureReplayTest);

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

TEST_P(CaptureReplayTest, KernelsWithManyArguments) {
  std::string parameters = "device float* x", sum = "0";
  for (int k = 1; k < 40; ++k) {
    const std::string name = "p" + std::to_string(k);
    parameters += k % 2 == 0 ? ", constant float& " + name : ", device const float* " + name;
    sum += " + " + name + (k % 2 == 0 ? "" : "[i]");
  }
  const ShaderLibrary lib = compile_shader("kernel void many(" + parameters +
                                           ", uint i [[thread_position_in_grid]]) { x[i] += " + sum + "; }");
  const std::string folder = captured([&] {
    Tensor x = zeros({64});
    const Tensor rows = from_host(counting(64));
    for (int launch = 0; launch < 5; ++launch) {
      std::vector<KernelArgument> arguments{KernelArgument(x)};
      for (int k = 1; k < 40; ++k) arguments.push_back(k % 2 == 0 ? KernelArgument(k * launch) : KernelArgument(rows));
      lib["many"].launch(arguments);
    }
    EXPECT_EQ(x.to_host<float>()[4], 5 * 20 * 1.0f + 10 * 380);
  });
  EXPECT_EQ(CaptureFile(folder).manifest().calls, 8u);
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

}  // namespace
}  // namespace kymo::capture::tests
