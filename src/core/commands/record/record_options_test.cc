#include "commands/record/record_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "options/command_line.h"

namespace kymo::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RecordOptionsTest, TheProgramFollowsTheDashes) {
  const auto options = read_record_options({"-o", "x.kymo", "--", "./train", "--json", "-o", "y"});
  EXPECT_THAT(options->program, ElementsAre("./train", "--json", "-o", "y"));
  EXPECT_EQ(options->output, "x.kymo");
  EXPECT_FALSE(options->json);
}

TEST(RecordOptionsTest, WithoutDashesTheProgramIsTheFirstWordThatIsNotAnOption) {
  const auto options = read_record_options({"--quiet", "stats", "--help", "--", "-o"});
  EXPECT_THAT(options->program, ElementsAre("stats", "--help", "--", "-o"));
  EXPECT_TRUE(options->quiet);
}

TEST(RecordOptionsTest, TheFileIsNamedAfterTheProgram) {
  EXPECT_EQ(read_record_options({"--", "bin/train"})->output, "train.kymo");
}

TEST(RecordOptionsTest, PolicyAndRingSizeAreRead) {
  const auto options = read_record_options({"--policy", "drop", "--ring-size", "1MB", "--", "x"});
  EXPECT_EQ(options->session.policy, Policy::Drop);
  EXPECT_EQ(options->session.ring_bytes, 1u << 20);  // rounded up
  EXPECT_FALSE(options->flight);
}

TEST(RecordOptionsTest, HeapIsRecordedCompletelyOrSampled) {
  EXPECT_EQ(read_record_options({"--", "x"})->memory, "");
  const auto all = read_record_options({"--memory", "x", "--memory=y"});
  EXPECT_EQ(all->memory, "all");
  EXPECT_THAT(all->program, ElementsAre("x", "--memory=y"));
  EXPECT_EQ(read_record_options({"--memory=sample:512k", "--", "x"})->memory, "sample:512k");
  EXPECT_THAT(
      [] {
        read_record_options({"--memory=some", "--", "x"});
      },
      ThrowsMessage<options::UsageError>(AllOf(HasSubstr("'some'"), HasSubstr("sample:512k"))));
  EXPECT_THAT(
      [] {
        read_record_options({"--memory=off", "--", "x"});
      },
      ThrowsMessage<options::UsageError>(HasSubstr("'off'")));
}

TEST(RecordOptionsTest, GpuCountersHaveARateAndNames) {
  EXPECT_FALSE(read_record_options({"--", "x"})->gpu_counters.is_given);
  const auto options = read_record_options(
      {"--gpu-counters", "10kHz", "--gpu-counters", "pcie__read_bytes,pcie__write_bytes.sum", "--", "x"});
  EXPECT_TRUE(options->gpu_counters.is_given);
  EXPECT_EQ(options->gpu_counters.hertz, 10'000u);
  EXPECT_THAT(options->gpu_counters.names, ElementsAre("pcie__read_bytes", "pcie__write_bytes.sum"));
  EXPECT_TRUE(read_record_options({"--without", "nvtx,gpu-counters", "--", "x"})->interfaces.without_gpu_counters);
  const auto refuses = [](const std::vector<std::string>& words, const char* what) {
    EXPECT_THAT([&] { read_record_options(words); }, ThrowsMessage<options::UsageError>(HasSubstr(what)));
  };
  refuses({"--gpu-counters", "occupancy", "--", "x"}, "'occupancy'");
  refuses({"--gpu-counters", "1kHz", "--without", "gpu-counters", "--", "x"}, "exclude each other");
  refuses({"--gpu-counters", "1kHz", "--without", "cuda", "--", "x"}, "leave out --without cuda");
  refuses({"--gpu-counters", "1kHz", "--pid", "1"}, "--gpu-counters");
  EXPECT_TRUE(read_record_options({"--gpu-stalls", "--", "x"})->gpu_stalls);
  refuses({"--gpu-stalls", "--gpu-counters", "1kHz", "--", "x"}, "exclude each other");
  refuses({"--gpu-stalls", "--flight", "1s", "--", "x"}, "exclude each other");
  refuses({"--gpu-stalls", "--without", "cuda", "--", "x"}, "--gpu-stalls needs the interface cuda");
  refuses({"--gpu-stalls", "--pid", "1"}, "--gpu-stalls is for a program");
}

TEST(RecordOptionsTest, FlightCanHaveATimeAndASize) {
  const auto options = read_record_options({"--flight", "30s", "--flight", "64MB", "./server", "x"});
  EXPECT_TRUE(options->flight);
  EXPECT_DOUBLE_EQ(options->session.flight_seconds, 30);
  EXPECT_EQ(options->session.flight_bytes, 64'000'000u);
  EXPECT_THAT(options->program, ElementsAre("./server", "x"));
}

TEST(RecordOptionsTest, ErrorsNameTheWrongOption) {
  EXPECT_THAT([] { read_record_options({}); },
              ThrowsMessage<options::UsageError>("no program given. Usage: kymo record [options] -- PROGRAM [args]"));
  EXPECT_THAT([] { read_record_options({"--"}); },
              ThrowsMessage<options::UsageError>("no program given. Usage: kymo record [options] -- PROGRAM [args]"));
  EXPECT_THAT(
      [] {
        read_record_options({"--polcy", "drop", "x"});
      },
      ThrowsMessage<options::UsageError>("unknown option '--polcy'; did you mean --policy?"));
  EXPECT_THAT(
      [] {
        read_record_options({"--policy", "wait", "--", "x"});
      },
      ThrowsMessage<options::UsageError>("--policy: 'wait' is not one of block, drop, overwrite"));
  EXPECT_THAT(
      [] {
        read_record_options({"--flight", "30", "--", "x"});
      },
      ThrowsMessage<options::UsageError>(AllOf(HasSubstr("--flight: '30' is neither"), HasSubstr("30s"))));
  EXPECT_THAT(
      [] {
        read_record_options({"--ring-size", "0", "--", "x"});
      },
      ThrowsMessage<options::UsageError>(HasSubstr("'0' is out of range; use 64KiB to 64MiB")));
  EXPECT_THAT(
      [] {
        read_record_options({"-o", "", "--", "x"});
      },
      ThrowsMessage<options::UsageError>("--output: the value is empty; use --output FILE"));
  EXPECT_THAT(
      [] {
        read_record_options({"--ring-size", "1TB", "--", "x"});
      },
      ThrowsMessage<options::UsageError>(HasSubstr("'1TB' is out of range; use 64KiB to 64MiB")));
  EXPECT_THAT(
      [] {
        read_record_options({"--flight", "--", "x"});
      },
      ThrowsMessage<options::UsageError>("--flight: no value given; use --flight TIME|SIZE"));
  EXPECT_THAT(
      [] {
        read_record_options({"--quiet=no", "--", "x"});
      },
      ThrowsMessage<options::UsageError>("--quiet takes no value, but has 'no'; use --quiet"));
  EXPECT_THAT(
      [] {
        read_record_options({"--memory=", "--", "x"});
      },
      ThrowsMessage<options::UsageError>("--memory: the value is empty; use --memory or --memory=sample:SIZE"));
  EXPECT_THAT(
      [] {
        read_record_options({"--ring-size", "big", "--", "x"});
      },
      ThrowsMessage<options::UsageError>(HasSubstr("--ring-size: 'big' is not a size")));
}

TEST(RecordOptionsTest, ShortFlightIsRecordedInShortPieces) {
  EXPECT_EQ(read_record_options({"x"})->samples.piece_ns, sample::kPieceNs);
  EXPECT_EQ(read_record_options({"--flight", "1s", "x"})->samples.piece_ns, 100'000'000u);
  EXPECT_EQ(read_record_options({"--flight", "1ms", "x"})->samples.piece_ns, 10'000'000u);
  EXPECT_EQ(read_record_options({"--flight", "1h", "x"})->samples.piece_ns, sample::kPieceNs);
  EXPECT_EQ(read_record_options({"--flight", "1MB", "x"})->samples.piece_ns, sample::kPieceNs);
}

TEST(RecordOptionsTest, OptionsWithoutEffectAreRefused) {
  const auto error_of = [](const Arguments& arguments) -> std::string {
    try {
      read_record_options(arguments);
    } catch (const options::UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(error_of({"--pid", "1", "--duration", "0s"}), AllOf(HasSubstr("'0s'"), HasSubstr("use 5s")));
  EXPECT_THAT(error_of({"--no-sample", "--sampler", "kernel", "x"}), HasSubstr("--sampler kernel has no effect"));
  EXPECT_THAT(error_of({"--sampler", "timers", "--sample", "off", "x"}), HasSubstr("--sampler timers has no effect"));
  EXPECT_EQ(error_of({"--sampler", "timers", "x"}), "");
  EXPECT_THAT(error_of({"--with", "itt,nvtx", "--without", "nvtx", "x"}),
              HasSubstr("nvtx is in --with and in --without"));
  EXPECT_EQ(error_of({"--with", "itt", "--without", "nvtx", "x"}), "");
}

TEST(RecordOptionsTest, CompilersAreNamedBesideInterfaces) {
  const auto options = read_record_options({"--with", "java,itt,node", "--", "x"});
  EXPECT_THAT(options->interfaces.with, ElementsAre(record::Interface::Itt));
  EXPECT_THAT(options->interfaces.compilers, ElementsAre("java", "node"));
  EXPECT_TRUE(read_record_options({"--", "x"})->interfaces.compilers.empty());
  EXPECT_THROW(read_record_options({"--with", "ruby", "--", "x"}), options::UsageError);
  EXPECT_THROW(read_record_options({"--with", "java", "--pid", "1"}), options::UsageError);
}

TEST(CompilerEnvironmentTest, OptionsOfTheUserStay) {
  ::setenv("NODE_OPTIONS", "--no-warnings", 1);
  ::unsetenv("JAVA_TOOL_OPTIONS");
  const Variables both = compiler_environment({"node", "java"});
  ::unsetenv("NODE_OPTIONS");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0], std::pair(std::string("NODE_OPTIONS"), std::string("--no-warnings --perf-basic-prof")));
  EXPECT_EQ(both[1].first, "JAVA_TOOL_OPTIONS");
  EXPECT_THAT(both[1].second, HasSubstr("-XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"));
  EXPECT_TRUE(compiler_environment({}).empty());
}

}  // namespace
}  // namespace kymo::cli
