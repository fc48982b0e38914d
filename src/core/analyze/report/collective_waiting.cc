#include "analyze/report/collective_waiting.h"

#include <algorithm>
#include <string>

namespace kymo::analyze {
namespace {

constexpr std::string_view kAllToAll = "alltoall", kSend = "send";
constexpr std::string_view kForAll[] = {"allreduce", "allgather", "reducescatter", kAllToAll, "barrier"};
constexpr std::string_view kNotForAll[] = {"broadcast", "reduce", "gather", "scatter", kSend, "recv"};

// "ncclDevKernel_ReduceScatter_Sum(…)" and "_reduce_scatter_base" both contain "reducescatter".
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name.substr(0, name.find('('))) {
    if (c >= 'A' && c <= 'Z')
      letters += static_cast<char>(c - 'A' + 'a');
    else if (c >= 'a' && c <= 'z')
      letters += c;
  }
  return letters;
}

template <typename Words>
bool has_one_of(const std::string& name, const Words& words) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return name.find(word) != name.npos; });
}

Waiting waiting_in_plain(const std::string& name) {
  if (has_one_of(name, kForAll)) return Waiting::ForAll;  // first: some contain the name of one with a root
  return has_one_of(name, kNotForAll) ? Waiting::NotForAll : Waiting::Unknown;
}

}  // namespace

Waiting waiting_in(std::string_view name) { return waiting_in_plain(plain(name)); }

Waiting waiting_in(std::string_view kernel, std::string_view collective) {
  const std::string of_kernel = plain(kernel), named = plain(collective);
  const Waiting by_kernel = waiting_in_plain(of_kernel), by_name = waiting_in_plain(named);
  if (by_kernel == Waiting::NotForAll) {
    const bool is_all_to_all = of_kernel.find(kSend) != of_kernel.npos && named.find(kAllToAll) != named.npos;
    return is_all_to_all ? Waiting::ForAll : Waiting::NotForAll;
  }
  return by_name == Waiting::Unknown ? by_kernel : by_name;
}

}  // namespace kymo::analyze
