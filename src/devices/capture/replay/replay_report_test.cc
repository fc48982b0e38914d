// What a replay reports: times, differences, and captures that cannot be replayed or written.
#include <sys/resource.h>

#include "capture/replay/test_replay.h"
#include "device/work_capture.h"

namespace kymo::capture::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CaptureReportTest : public CaptureReplayTest {};
KYMO_ON_EVERY_DEVICE(CaptureReportTest);

TEST_P(CaptureReportTest, RepeatsAreTimedAndKernelsCounted) {
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

TEST_P(CaptureReportTest, NamedOperationsHaveTheirFlops) {
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

TEST_P(CaptureReportTest, DifferenceIsReportedWithItsElement) {
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

TEST_P(CaptureReportTest, KernelsInABackendLanguageReplayOnlyOnThatBackend) {
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
TEST_P(CaptureReportTest, FullDiskEndsOnlyTheCapture) {
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
