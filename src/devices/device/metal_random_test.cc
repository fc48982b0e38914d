// Random programs: a device gives the same bits as the host, whose compiler compiles the same text.
//
// The number of programs is KYMO_RANDOM_COUNT (default 5). The first seed is KYMO_RANDOM_SEED (default 1).
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "device/test_metal.h"
#include "device/test_random_program.h"
#include "device/test_random_texts.h"

namespace kymo::device::tests {
namespace {

uint64_t random_setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// The programs, and their code for the host: all in one library, which is compiled once per process.
class RandomOracle {
 public:
  using Function = void (*)(uint32_t*, const uint32_t*, uint32_t);
  struct Program {
    uint64_t seed;
    std::string name, text;
    Function host;
  };

  static const RandomOracle& get() {
    static const RandomOracle oracle;
    return oracle;
  }
  const std::string& absent() const { return absent_; }
  const std::string& fault() const { return fault_; }  // the compiler's error: the programs are wrong
  const std::vector<Program>& programs() const { return programs_; }

 private:
  RandomOracle() {
    const uint64_t first = random_setting("KYMO_RANDOM_SEED", 1), count = random_setting("KYMO_RANDOM_COUNT", 5);
    std::string all = std::string(kRandomHostPrelude) + std::string(kRandomHelpers);
    for (uint64_t seed = first; seed < first + count; ++seed) {
      const std::string name = base::format("program{}", seed);
      programs_.push_back({seed, name, RandomProgram(seed).text(name), nullptr});
    }
    for (const Program& program : programs_)
      all += base::format("namespace in_{} {{\n{}}}\n", program.name, program.text);
    char folder[] = "/tmp/kymo-random-XXXXXX";
    if (mkdtemp(folder) == nullptr) {
      absent_ = "no folder could be made in /tmp";
      return;
    }
    const std::string path = folder;
    std::ofstream(path + "/programs.cc") << all;
    const char* compiler = std::getenv("CXX");
    const std::string command = base::format(
        "{} -x c++ -std=c++17 -w -O1 -ffp-contract=off -fsigned-char -fPIC -shared {}/programs.cc -o {}/programs.so 2> "
        "{}/log",
        compiler == nullptr ? "c++" : compiler, path, path, path);
    if (std::system("command -v ${CXX:-c++} > /dev/null 2>&1") != 0) {
      absent_ = "no C++ compiler here: install g++, or set CXX";
    } else if (std::system(command.c_str()) != 0) {
      std::stringstream log;
      log << std::ifstream(path + "/log").rdbuf();
      fault_ = log.str();
    } else if (void* library = dlopen((path + "/programs.so").c_str(), RTLD_NOW | RTLD_LOCAL)) {
      for (Program& program : programs_)
        program.host = reinterpret_cast<Function>(dlsym(library, program.name.c_str()));
    } else {
      fault_ = dlerror();
    }
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string absent_, fault_;
  std::vector<Program> programs_;
};

class MetalRandomTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalRandomTest);

TEST_P(MetalRandomTest, DevicesAgreeWithTheHost) {
  const RandomOracle& oracle = RandomOracle::get();
  if (!oracle.absent().empty()) GTEST_SKIP() << oracle.absent();
  ASSERT_EQ(oracle.fault(), "");
  const auto in = each(
      64, [](int i) { return static_cast<uint32_t>(i) * (i < 16 ? 1u : 0x9e3779b1u) ^ (i > 48 ? 0x80000000u : 0u); });
  for (const RandomOracle::Program& program : oracle.programs()) {
    ASSERT_NE(program.host, nullptr);
    const auto wanted = each(64, [&](int i) {
      std::vector<uint32_t> out(64);
      program.host(out.data(), in.data(), static_cast<uint32_t>(i));
      return out[static_cast<size_t>(i)];
    });
    std::vector<uint32_t> got;
    try {
      const std::string text = std::string(kRandomMetalPrelude) + std::string(kRandomHelpers) + program.text;
      got = run<uint32_t>(metal(text)[program.name], 64, in);
    } catch (const CompileError& error) {
      ADD_FAILURE() << "seed " << program.seed << ": " << error.what() << "\n" << program.text;
      continue;
    }
    const auto differs = std::ranges::mismatch(wanted, got).in1 - wanted.begin();
    EXPECT_EQ(got, wanted) << "seed " << program.seed << ", first at thread " << differs << "\n" << program.text;
  }
}

}  // namespace
}  // namespace kymo::device::tests
