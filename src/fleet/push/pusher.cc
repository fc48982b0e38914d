#include "push/pusher.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "push/ranks.h"

namespace kymo::push {

namespace {

constexpr size_t kBytesOfBatch = 64 << 20, kTracesOfBatch = 64;
constexpr size_t kOpenFiles = 16;  // the store is asked about all of them at once
constexpr std::chrono::milliseconds kFirstWait{200}, kLongestWait{10'000};

}  // namespace

// A trace of a file that the store does not have. Its rows are read from the file.
struct Pusher::TraceToPush {
  const RankOfFile* rank = nullptr;
  RowHead head{};
  SummaryBlocks rows{};
  uint32_t day = 0;
};

// A file that is open while the store is asked about its traces.
struct Pusher::TraceFile {
  std::string path;
  base::FileVersion version;  // before the numbers of its traces were computed
  bool lacks_end = false;
  RanksOfFile ranks;
  trace::Reader reader;

  // True also if it is gone. What was read before belongs to the numbers only if this is false afterwards.
  bool has_changed() const {
    try {
      return base::version_of_file(path) != version;
    } catch (const Error&) {
      return true;
    }
  }
};

// Runs `read`, which reads a file. False if it cannot be read: that is reported. The store must not be used in it:
// its errors are not those of the file.
template <typename Read>
bool Pusher::can_read(const std::string& file, Read&& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    report_({file, Outcome::Unreadable, error.what()});
    return false;
  }
}

// Runs `action` until it does not throw TryAgain, at most `retries` more times. Then throws TryAgain.
template <typename Action>
void Pusher::with_retries(Action&& action) {
  auto wait = kFirstWait;
  for (int left = options_.retries;; --left) {
    try {
      return action();
    } catch (const TryAgain& problem) {
      if (left <= 0) throw TryAgain(base::format("{}; gave up after {} retries", problem.what(), options_.retries));
      warn_(base::format("{}; next try in {} ms", problem.what(), wait.count()));
    }
    ++counts_.retries;
    if (!options_.wait)
      std::this_thread::sleep_for(wait);
    else if (!options_.wait(wait))
      throw Error("interrupted");
    wait = std::min(wait * 2, kLongestWait);
  }
}

std::string FileOutcome::problem() const {
  const std::string name = base::printable(file);
  switch (outcome) {
    case Outcome::Pushed:
    case Outcome::AlreadyThere:
      return {};
    case Outcome::StillRecording:
      return name + " is still being recorded, and was not pushed; push it when the recording has ended";
    case Outcome::StillArriving:
      return name +
             " has no end, or is damaged, and changed less than a minute ago: it may still be copied, and was not "
             "pushed";
    case Outcome::Changed:
      return name + " changed while it was read, and was not pushed yet";
    case Outcome::Unreadable:
      break;
  }
  const bool is_named =  // as in most reasons
      reason.starts_with(name + " ") || reason.starts_with(name + ":") || reason.find(" " + name + ":") != reason.npos;
  return is_named ? reason : base::format("{}: {}", name, reason);
}

void Pusher::prepare() {
  if (is_prepared_) return;
  with_retries([&] { store_->prepare(); });
  is_prepared_ = true;
}

void Pusher::publish() {
  if (batch_.traces.rows() == 0) return;
  with_retries([&] { store_->publish(batch_, day_); });
  counts_.traces += batch_.traces.rows();
  counts_.rows += batch_.rows();
  batch_ = {};
  for (const auto& file : std::exchange(complete_, {})) report_(*file);
}

// What is the same for several ranks of a file is said once.
void Pusher::warn_of(const TraceFile& file, const std::vector<TraceToPush>& traces) {
  if (file.ranks.left_out > 0)
    warn_(base::format("{}: {} without a rank and iterations {} not pushed, such as a launcher",
                       base::printable(file.path), base::count_of(file.ranks.left_out, "process", "processes"),
                       file.ranks.left_out == 1 ? "is" : "are"));
  if (!file.ranks.not_a_rank.empty() && !std::exchange(warned_of_rank_, true))
    warn_(base::format(
        "{}: {} of the recorded program is not a rank, so {}: write a whole number from 0", base::printable(file.path),
        base::printable(file.ranks.not_a_rank),
        traces.front().rank->rank < 0 ? "it has none" : base::format("it has rank {}", traces.front().rank->rank)));
  std::set<std::string> said;
  for (const TraceToPush& trace : traces)
    for (const std::string& text : warnings_of(trace.head, file.path))
      if (said.insert(text).second) warn_(text);
}

void Pusher::push_file(TraceFile& file) {
  const auto outcome = std::make_shared<FileOutcome>();
  outcome->file = file.path;
  outcome->lacks_end = file.lacks_end;
  std::vector<TraceToPush> missing;
  for (const RankOfFile& rank : file.ranks.list) {
    const auto found = there_.find(rank.number);
    if (found == there_.end()) {
      missing.emplace_back().rank = &rank;
      continue;
    }
    outcome->is_damaged |= found->second;
    ++outcome->already_there;
  }
  outcome->outcome = missing.empty() ? Outcome::AlreadyThere : Outcome::Pushed;
  outcome->pushed = missing.size();
  if (missing.empty()) return report_(*outcome);

  // The rows of all of them are read before the first one is pushed: the file must still be the same then.
  const auto read = [&] {
    for (TraceToPush& trace : missing) {
      const RankOfFile& rank = *trace.rank;
      file.reader.show_only(rank.processes);
      trace.head =
          add_summary(trace.rows, file.reader, rank.number,
                      {options_.job.empty() ? rank.job : options_.job, rank.rank, file.path, rank.run, rank.helpers});
      trace.day = day_of(trace.head);
    }
  };
  if (!can_read(file.path, read)) return;
  if (file.has_changed()) return report_({file.path, Outcome::Changed, {}});
  warn_of(file, missing);
  std::stable_sort(missing.begin(), missing.end(),
                   [](const TraceToPush& a, const TraceToPush& b) { return a.day < b.day; });
  for (const TraceToPush& trace : missing) {
    outcome->is_damaged |= !trace.head.damage.empty();
    there_[trace.rank->number] = !trace.head.damage.empty();  // two files may have it
    if (trace.day != day_) publish();
    day_ = trace.day;
    batch_.append(trace.rows);
    if (&trace == &missing.back()) complete_.push_back(outcome);
    if (batch_.bytes() >= kBytesOfBatch || batch_.traces.rows() >= kTracesOfBatch) publish();
  }
}

void Pusher::push_some(std::span<const std::string> files) {
  std::vector<uint64_t> numbers;
  uint32_t from = UINT32_MAX, to = 0;
  std::vector<TraceFile> readable;
  for (const std::string& file : files) {
    can_read(file, [&] {
      std::error_code error;  // to open a FIFO would wait for somebody who writes to it
      if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
        throw Error("it is not a regular file; give the file of a trace");
      // Opened first: that adds what dead processes left to the file, which changes its content.
      trace::Reader reader = open_(file);
      if (reader.is_being_written()) return report_({file, Outcome::StillRecording, {}});
      if (options_.may_still_arrive && may_be_part(reader) && options_.may_still_arrive(file))
        return report_({file, Outcome::StillArriving, {}});
      const base::FileVersion version = base::version_of_file(file);
      RanksOfFile ranks = find_ranks(reader, trace_number(file));
      const auto [first, last] = times_of(reader);
      from = std::min(from, first);
      to = std::max(to, last);
      for (const RankOfFile& rank : ranks.list) numbers.push_back(rank.number);
      readable.push_back({file, version, lacks_end(reader), std::move(ranks), std::move(reader)});
    });
  }
  if (readable.empty()) return;
  prepare();
  KnownTraces found;
  with_retries([&] { found = store_->known(numbers, from, to); });
  there_.merge(found);
  for (TraceFile& file : readable) push_file(file);
}

void Pusher::push(const std::vector<std::string>& files) {
  try {
    const uint64_t before = counts_.traces;
    there_.clear();
    for (size_t at = 0; at < files.size(); at += kOpenFiles)
      push_some(std::span(files).subspan(at, std::min(kOpenFiles, files.size() - at)));
    publish();
    if (counts_.traces > before) store_->tidy();
  } catch (const Error&) {
    is_prepared_ = false;
    batch_ = {};
    complete_.clear();
    throw;
  }
}

}  // namespace kymo::push
