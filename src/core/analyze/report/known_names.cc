#include "analyze/report/known_names.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace kymo::analyze {
namespace {

constexpr std::string_view kCostCategories[] = {"overhead", "profiler_overhead"};
constexpr std::string_view kCostNames[] = {"waiting for the collector", "Activity Buffer Request", "cudaProfilerStart",
                                           "cudaProfilerStop",          "cuProfilerStart",         "cuProfilerStop"};
constexpr std::string_view kCostPrefixes[] = {"CUPTI:", "PyTorch Profiler (", "profiler::_record_function",
                                              "CUDA profiling ", "Nsight Systems"};
constexpr std::string_view kCostEndings[] = {" profiling initialization"};

constexpr std::string_view kLibraryCategories[] = {"cuda_runtime", "cuda_driver", "hip_runtime", "os_runtime",
                                                   "opencl",       "vulkan",      "level_zero",  "metal"};

constexpr std::string_view kWaitWords[] = {"sleep", "nanosleep", "usleep",  "synchronize", "poll",
                                           "epoll", "futex",     "acquire", "recv",        "await",
                                           "flock", "pselect",   "barrier", "ppoll",       "sigsuspend"};
// Words that mean waiting only beside one of the others: a thread is joined, but so are tables and texts.
constexpr std::string_view kJoinedThings[] = {"thread", "threads", "threading", "pthread",
                                              "worker", "workers", "process",   "pool"};
constexpr std::string_view kGottenThings[] = {"future", "queue", "promise"};

template <typename List>
bool is_in(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// In lower case: "cudaStreamSynchronize" has cuda, stream and synchronize.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins = std::isupper(byte) != 0 && std::islower(static_cast<unsigned char>(before)) != 0;
    if ((begins || std::isalpha(byte) == 0) && !words.back().empty()) words.emplace_back();
    if (std::isalpha(byte) != 0) words.back() += static_cast<char>(std::tolower(byte));
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

bool is_profiler_cost(std::string_view category, std::string_view name) {
  if (is_in(kCostCategories, category) || is_in(kCostNames, name)) return true;
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  return std::any_of(std::begin(kCostPrefixes), std::end(kCostPrefixes), begins) ||
         std::any_of(std::begin(kCostEndings), std::end(kCostEndings), ends);
}

bool is_library_call(std::string_view category) { return is_in(kLibraryCategories, category); }

bool is_wait(std::string_view name) {
  const std::vector<std::string> words = words_of(name.substr(0, 400));
  const auto has_one_of = [&](const auto& list) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return is_in(list, word); });
  };
  for (const std::string& word : words) {
    if (word.starts_with("wait") || is_in(kWaitWords, word)) return true;
    if (word == "join" && (words.size() == 1 || has_one_of(kJoinedThings))) return true;
    if (word == "get" && has_one_of(kGottenThings)) return true;
    if (word == "lock" && has_one_of(std::initializer_list<std::string_view>{"mutex", "rwlock", "wr", "rd"}))
      return true;
  }
  return words.size() == 1 && words[0] == "select";
}

}  // namespace kymo::analyze
