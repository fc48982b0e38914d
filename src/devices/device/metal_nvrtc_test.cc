// NVRTC compiles every source of the conformance tests, translated to CUDA. This needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/test_tree.h"
#include "kymo/error.h"
#include "kymo/translate.h"

#if KYMO_HAVE_CUDA
#include "device/cuda/nvrtc.h"
#endif

namespace kymo::device::tests {
namespace {

struct NvrtcSource {
  std::string name, text;  // the name has the test file and the number of the source in it
  bool tensor_cores = false;
};

// The raw strings that are arguments of metal() in the test files of this folder.
std::vector<NvrtcSource> nvrtc_sources() {
  std::vector<NvrtcSource> sources;
  for (const auto& entry : std::filesystem::directory_iterator(kymo::base::in_tree("src/devices/device"))) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("metal_") || !name.ends_with("_test.cc") || name == "metal_nvrtc_test.cc") continue;
    std::stringstream read;
    read << std::ifstream(entry.path()).rdbuf();
    const std::string text = read.str(), begin = "metal(R\"(", end = ")\"";
    int number = 0;
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
      at += begin.size();
      const size_t stop = text.find(end, at);
      sources.push_back({name + " #" + std::to_string(++number),
                         "#include <metal_stdlib>\nusing namespace metal;\n" + text.substr(at, stop - at)});
      if (sources.back().text.find("simdgroup_multiply") != std::string::npos) {
        sources.push_back(sources.back());
        sources.back().name += " with tensor cores";
        sources.back().tensor_cores = true;
      }
      at = stop;
    }
  }
  std::ranges::sort(sources, {}, &NvrtcSource::name);
  return sources;
}

TEST(MetalNvrtcTest, EveryConformanceSourceCompiles) {
#if KYMO_HAVE_CUDA
  const cuda::Nvrtc* nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::load(0);
  } catch (const NotAvailable& error) {
    GTEST_SKIP() << error.what();
  }
  const std::vector<NvrtcSource> sources = nvrtc_sources();
  ASSERT_GT(sources.size(), 60u) << "the test files are not where they should be";
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // for `faults`
  std::string faults;
  const auto work = [&] {
    for (size_t i = next++; i < sources.size(); i = next++) {
      std::string fault;
      shader::Options options;
      options.target = shader::Target::Cuda;
      options.tensor_cores = sources[i].tensor_cores;
      const shader::Translation translated = shader::translate(sources[i].text, options);
      if (translated.first_error() != nullptr) {
        fault = translated.log;
      } else {
        try {
          const std::vector<std::string> none;
          nvrtc->compile(translated.text, sources[i].name, 90, none);
        } catch (const CompileError& error) {
          fault = error.what();
        }
      }
      if (fault.empty()) continue;
      const std::scoped_lock lock(mutex);
      faults += sources[i].name + ":\n" + fault + "\n";
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(faults, "");
#else
  GTEST_SKIP() << "built without CUDA's headers";
#endif
}

}  // namespace
}  // namespace kymo::device::tests
