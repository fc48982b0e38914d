// `kymo memory` on a recording of a program that does not know Kymo.
#include <signal.h>

#include <filesystem>

#include "base/test_tree.h"
#include "counts.h"
#include "heap_trace.h"

namespace kymo::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

#if KYMO_HAVE_DW
constexpr bool kHaveNames = true;
#else
constexpr bool kHaveNames = false;
#endif
constexpr const char* kNoNames = "built without libdw: functions have no names";

class MemoryTest : public MallocTest {
 protected:
  std::string kymo_memory(const Words& more) {
    Words words{program("kymo"), "memory", trace_file()};
    words.insert(words.end(), more.begin(), more.end());
    const Ending ending = run(words);
    EXPECT_EQ(ending.code, 0) << ending.err;
    EXPECT_EQ(ending.err, "");
    return ending.out;
  }
  // The line of a table that contains this text.
  static std::string line_with(const std::string& text, const std::string& part) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.find(part) != std::string::npos) return line;
    return "no line with " + part + " in:\n" + text;
  }
  // The value from the row of this function in the output of --json.
  static double bytes_in(const std::string& json, const std::string& function, const std::string& what) {
    size_t at = json.find(function + "\",\n      \"at_peak\"");
    for (const std::string& part : {"\"" + what + "\": {", std::string("\"bytes\": ")})
      if (at != std::string::npos) at = json.find(part, at);
    return bytes_after(json, at);
  }
  static double bytes_after(const std::string& json, size_t at) {
    return at == std::string::npos ? -1 : std::strtod(json.c_str() + json.find(' ', at), nullptr);
  }
  static std::string find_program(const Words& names) {
    std::istringstream folders(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
    for (std::string folder; std::getline(folders, folder, ':');)
      for (const std::string& name : names)
        if (access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
    return {};
  }
  static void insert(std::string& text, const std::string& before, const std::string& more) {
    text.insert(std::min(text.find(before), text.size()), more);
  }
};

TEST_F(MemoryTest, MemoryThatIsNeverFreedIsReportedByFunction) {
  record({program("heap"), "known", "300"});
  EXPECT_THAT(line_with(kymo_memory({"--leaks", "--by", "size"}), "70003 bytes"), HasSubstr("7.0 MB"));
  if (!kHaveNames) GTEST_SKIP() << kNoNames;
  const std::string text = kymo_memory({"--leaks"});
  const std::string line = line_with(text, "apple()");
  EXPECT_THAT(line, HasSubstr("7.0 MB"));
  EXPECT_THAT(line, HasSubstr("100"));
  EXPECT_THAT(text, HasSubstr("basket(unsigned int)"));
  EXPECT_EQ(text.find("pear()"), std::string::npos) << "all were freed";
}

TEST_F(MemoryTest, MemoryFreedByAnotherThreadIsTracked) {
  record({program("heap"), "threads", "2000"});
  const std::string text = kymo_memory({});
  EXPECT_EQ(text.find("allocated again"), std::string::npos) << text;
}

TEST_F(MemoryTest, EveryOutputFormatIsValid) {
  record({program("heap"), "known", "300"});
  for (const char* const name :
       {"m.html", "m.json", "m.raw.json", "m.json.gz", "m.raw.json.gz", "m.pickle", "m.kymo"}) {
    EXPECT_EQ(kymo_memory({"-o", file(name)}), "");
    EXPECT_FALSE(contents_of(file(name)).empty()) << name;
  }
  const Ending forms = run({"/usr/bin/env", "python3", kymo::base::in_tree("src/core/analyze/memory/test_forms.py"),
                            file("m"), kymo::base::in_tree("tests/data/torch/memory-snapshot.pickle")});
  EXPECT_EQ(forms.code, 0) << forms.out << forms.err;
  EXPECT_THAT(forms.out, HasSubstr("snapshot: peaks "));
  if (!kHaveNames) GTEST_SKIP() << kNoNames;
  const Ending apples = run({"/usr/bin/env", "python3", "-c",
                             "import pickle, sys\n"
                             "trace = pickle.load(open(sys.argv[1], 'rb'))['device_traces'][0]\n"
                             "apples = [e for e in trace if e['size'] == 70003]\n"
                             "print(len(apples), all(e['frames'][0]['name'].endswith('apple()') for e in apples))\n",
                             file("m.pickle")});
  EXPECT_EQ(apples.out, "100 True\n") << apples.err;
}

// The page in a browser without network, with a script at its end that uses everything on the page.
TEST_F(MemoryTest, ThePageWorksInABrowser) {
  const std::string browser = find_program({"chromium", "chromium-browser", "google-chrome"});
  if (browser.empty()) GTEST_SKIP() << "no chromium here";
  if (!kHaveNames) GTEST_SKIP() << kNoNames;
  record({program("heap"), "known", "300"});
  kymo_memory({"-o", file("m.html")});
  std::string page = contents_of(file("m.html"));
  ASSERT_THAT(page, StartsWith("<!doctype html>"));
  insert(page, "<meta ", "<script>const faults = []; onerror = text => { faults.push(text); };</script>");
  insert(page, "</body>", "<script>" + contents_of(kymo::base::in_tree("tests/memory_page.js")) + "</script>");
  write_file(file("driven.html"), page);
  const Ending ending = run({browser, "--headless", "--no-sandbox", "--disable-gpu",
                             "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir=" + file("browser"),
                             "--window-size=1200,900", "--dump-dom", "file://" + file("driven.html")});
  const size_t said = ending.out.find("<pre id=\"said\">");
  ASSERT_NE(said, std::string::npos) << ending.out.substr(0, 2'000) << ending.err;
  EXPECT_THAT(ending.out.substr(said), StartsWith("<pre id=\"said\">"
                                                  "peak is marked: true\n"
                                                  "by category: true, hidden true, shown again true\n"
                                                  "by stack: true, hidden true, shown again true\n"
                                                  "by range: true, hidden true, shown again true\n"
                                                  "tables: 9\n"
                                                  "largest leak: apple() 7.00 MB\n"
                                                  "its stack: true\n"
                                                  "tip: true\n"
                                                  "zoomed: true\n"
                                                  "all again: true\n"
                                                  "requests: 0\n"
                                                  "errors: 0\n</pre>"));
}

// Each sample represents bytes by its probability. The sum of a thousand samples is within a fifth of the true value,
// except once in many years.
TEST_F(MemoryTest, ASampleIsMarkedAsOneAndItsSumsAreCloseToTheTrueValues) {
  constexpr double kCount = 1'000;
  record({program("heap"), "known", "3000"}, "--memory=sample:100k");
  EXPECT_THAT(kymo_memory({}), HasSubstr("estimated from a sample"));
  const std::string json = kymo_memory({"--json"});
  EXPECT_NEAR(bytes_after(json, json.find("\"allocated_bytes\": ")), kCount * (kApple + kPear + kPlum),
              kCount * kPear / 2);
  if (!kHaveNames) GTEST_SKIP() << kNoNames;
  for (const auto& [name, bytes] : {std::pair{"apple()", kApple}, {"pear()", kPear}, {"plum()", kPlum}}) {
    const double truth = kCount * static_cast<double>(bytes);
    EXPECT_NEAR(bytes_in(json, name, "allocated"), truth, truth / 5) << name;
  }
  EXPECT_NEAR(bytes_in(json, "apple()", "never_returned"), kCount * kApple, kCount * kApple / 5);
  EXPECT_EQ(bytes_in(json, "plum()", "never_returned"), 0);
}

// The program allocates 2^i MB of category i. The category of all other memory is not known.
TEST_F(MemoryTest, CategoriesOfAProgramAreKept) {
  if (!std::filesystem::exists(program("reports_memory")))
    GTEST_SKIP() << "built without the device runtime (KYMO_DEVICES)";
  ASSERT_EQ(run_recorded(Collector::KymoRecord, trace_file(), {program("reports_memory")}).code, 0);
  const std::string text = kymo_memory({});
  EXPECT_THAT(text, HasSubstr(": 1.0 MB parameter, 2.0 MB optimizer state, 4.0 MB input, 8.0 MB temporary, "
                              "16.0 MB activation, 32.0 MB gradient, 64.0 MB autograd detail, 128 MB unknown\n"));
  EXPECT_THAT(text, HasSubstr("peak 255 MB"));
  EXPECT_EQ(kymo_memory({"--leaks"}).find("never freed:"), std::string::npos);
}

TEST_F(MemoryTest, AllocationsOfTheEdgeProfilerAreRecorded) {
  if (!std::filesystem::exists(program("reports_memory")))
    GTEST_SKIP() << "built without the device runtime (KYMO_DEVICES)";
  ASSERT_EQ(run({program("reports_memory"), trace_file()}).code, 0);
  const std::string text = kymo_memory({"--by", "range"});
  EXPECT_THAT(text, HasSubstr("peak 350 kB"));
  EXPECT_THAT(text, HasSubstr(": 50.0 kB temporary, 300 kB unknown"));
  EXPECT_THAT(text, HasSubstr("cuda:0"));
  EXPECT_THAT(line_with(text, " outer"), HasSubstr("300 kB"));
  EXPECT_THAT(line_with(text, " inner"), HasSubstr("50.0 kB"));
}

TEST_F(MemoryTest, EverythingOfAKilledProgramIsRecorded) {
  Process recorder = start({program("kymo"), "record", "--quiet", "-o", trace_file(), "--memory", "--", program("heap"),
                            "endless", "0", file("counts")});
  Counts* counts = map_counts(file("counts").c_str());
  ASSERT_NE(counts, nullptr);
  wait_until("allocations", [&] { return counts->done[0] >= 10'000; });
  kill(static_cast<pid_t>(counts->pid), SIGKILL);
  recorder.wait();
  const auto done = static_cast<double>(counts->done[0]);
  const double bytes = bytes_in(kymo_memory({"--json", "--by", "size"}), "70003 bytes", "allocated");
  EXPECT_GE(bytes, done * kApple);
  EXPECT_LE(bytes, (done + 1) * kApple);
}

TEST_F(MemoryTest, FunctionsAreNamedAsFarAsTheirFileAllows) {
  const std::string strip = find_program({"strip"});
  if (strip.empty()) GTEST_SKIP() << "no strip here";
  if (!kHaveNames) GTEST_SKIP() << kNoNames;
  ASSERT_EQ(run({strip, "--strip-debug", "-o", file("names"), program("heap")}).code, 0);
  ASSERT_EQ(run({strip, "-o", file("bare"), program("heap")}).code, 0);
  const auto largest_leak_of = [&](const std::string& path) {
    record({path, "known", "300"});
    const std::string text = kymo_memory({"--leaks", "--top", "1"});
    return line_with(text.substr(text.find("never freed:")), "7.0 MB");
  };
  EXPECT_THAT(largest_leak_of(program("heap")), ContainsRegex("apple\\(\\)  heap\\.cc:[0-9]+"));
  EXPECT_THAT(largest_leak_of(file("names")), ContainsRegex("apple\\(\\)  names"));
  EXPECT_THAT(largest_leak_of(file("bare")), ContainsRegex("bare\\+0x[0-9a-f]+"));
}

}  // namespace
}  // namespace kymo::e2e
