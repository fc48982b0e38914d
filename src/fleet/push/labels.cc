#include "push/labels.h"

#include <algorithm>
#include <random>
#include <string>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::push {

TraceLabels labels_of(const TraceFile& file, const RankOfFile& rank, const std::map<uint64_t, KnownTrace>& there,
                      const PushOptions& options) {
  TraceLabels labels{options.job, rank.is_beside ? -1 : options.rank, file.path, !rank.processes.empty(), rank.run};
  auto before = there.find(rank.number);
  if (before == there.end()) before = there.find(file.ranks.has_several() ? rank.older : file.number);
  if (before != there.end() && labels.job.empty()) labels.job = before->second.job;
  if (before != there.end() && labels.rank < 0 && !rank.is_beside) labels.rank = before->second.rank;
  if (labels.job.empty()) labels.job = rank.job;
  if (labels.rank < 0) labels.rank = rank.rank;
  return labels;
}

void choose_jobs(const TraceFile& file, const std::map<uint64_t, KnownTrace>& there, const PushOptions& options,
                 const trace::Reader& reader, std::span<TraceToPush> traces) {
  const bool are_several = file.ranks.has_several();
  const auto whole = there.find(file.number);
  if (file.ranks.list.size() == 1 || !options.job.empty() || (are_several && whole == there.end())) return;
  const std::string of_file = job_of(reader);
  for (TraceToPush& trace : traces) {
    if (!are_several && trace.labels.job.empty()) trace.labels.job = of_file;
    if (are_several && !there.contains(trace.rank->number) && whole->second.job != of_file)  // it was given
      trace.labels.job = whole->second.job;
  }
}

void settle_labels(const std::function<Files()>& find, const std::function<void(const Files&)>& push_again,
                   const std::function<void(std::chrono::milliseconds)>& wait) {
  std::minstd_rand random{std::random_device{}()};
  std::chrono::milliseconds longest{200};
  for (int left = kMostConflicts;; --left) {
    const Files files = find();
    if (files.empty()) return;
    if (left == 0)
      throw Error(
          base::format("another push gives {} of these traces another job or rank at the same time: end one of them, "
                       "then run the same command again",
                       files.size()));
    wait(std::chrono::milliseconds(random() % static_cast<uint64_t>(longest.count() + 1)));
    push_again(files);
    longest = std::min(longest * 2, std::chrono::milliseconds(10'000));
  }
}

}  // namespace kymo::push
