#include "push/pusher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <thread>
#include <utility>

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

// A trace of a file that the store does not have. Its rows are read from the file.
struct TraceToPush {
  const RankOfFile* rank = nullptr;
  TraceLabels labels;
  RowHead head{};
  SummaryBlocks rows{};
  uint32_t day = 0;
};

// A file that is open while the store is asked about its traces.
struct TraceFile {
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

}  // namespace

struct Pusher::Impl {
  // To be called when all that is needed of the file was read. True: that is reported.
  bool has_changed(const TraceFile& file) {
    const bool has = file.has_changed();
    if (has) report({file.path, Outcome::Changed, {}});
    return has;
  }

  // Runs `read`, which reads a file. False if it cannot be read: that is reported. The store must not be used in it:
  // its errors are not those of the file.
  template <typename Read>
  bool can_read(const std::string& file, Read&& read) {
    try {
      read();
      return true;
    } catch (const Error& error) {
      report({file, Outcome::Unreadable, error.what()});
      return false;
    }
  }

  // Runs `action` until it does not throw TryAgain, at most `retries` more times. Then throws TryAgain.
  template <typename Action>
  void with_retries(Action&& action) {
    auto wait = kFirstWait;
    for (int left = options.retries;; --left) {
      try {
        return action();
      } catch (const TryAgain& problem) {
        if (left <= 0) throw TryAgain(base::format("{}; gave up after {} retries", problem.what(), options.retries));
        if (warn) warn(base::format("{}; next try in {} ms", problem.what(), wait.count()));
      }
      ++counts.retries;
      if (!options.wait)
        std::this_thread::sleep_for(wait);
      else if (!options.wait(wait))
        throw Error("interrupted");
      wait = std::min(wait * 2, kLongestWait);
    }
  }

  void prepare();
  void ask(const std::vector<uint64_t>& numbers, uint32_t from, uint32_t to);
  void publish();
  void push_some(std::span<const std::string> files);
  void push_file(TraceFile& file);
  std::vector<TraceToPush> find_missing(const TraceFile& file, FileOutcome& outcome);
  bool read_rows(TraceFile& file, std::vector<TraceToPush>& traces);
  void warn_of(const TraceFile& file, const std::vector<TraceToPush>& traces);

  PushOptions options;
  Open open;
  Report report;
  Warn warn;
  std::unique_ptr<Store> store;
  bool is_prepared = false, warned_of_rank = false;
  Counts counts;
  KnownTraces there;  // or in the batch
  // Traces of one day, which are published together, and the files of which they are the last ones.
  SummaryBlocks batch;
  uint32_t day = 0;
  std::vector<std::shared_ptr<FileOutcome>> complete;
};

std::string FileOutcome::reason_text() const {
  const std::string name = base::printable(file);
  const bool is_named =
      reason.starts_with(name + " ") || reason.starts_with(name + ":") || reason.find(" " + name + ":") != reason.npos;
  return is_named ? reason : base::format("{}: {}", name, reason);
}

void Pusher::Impl::prepare() {
  if (is_prepared) return;
  try {
    with_retries([&] { store->prepare(); });
  } catch (const TryAgain&) {
    throw;
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  is_prepared = true;
}

void Pusher::Impl::ask(const std::vector<uint64_t>& numbers, uint32_t from, uint32_t to) {
  constexpr size_t kTracesOfQuestion = 256;  // servers limit the length of a statement
  for (size_t at = 0; at < numbers.size(); at += kTracesOfQuestion) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kTracesOfQuestion, numbers.size() - at));
    KnownTraces found;
    with_retries([&] { found = store->known({begin, end}, from, to); });
    there.merge(found);
  }
}

void Pusher::Impl::publish() {
  if (batch.traces.rows() == 0) return;
  with_retries([&] { store->publish(batch, day); });
  counts.traces += batch.traces.rows();
  counts.rows += batch.rows();
  batch = {};
  for (const auto& file : std::exchange(complete, {})) report(*file);
}

// What is the same for several ranks of a file is said once.
void Pusher::Impl::warn_of(const TraceFile& file, const std::vector<TraceToPush>& traces) {
  if (!warn) return;
  if (file.ranks.left_out > 0)
    warn(base::format("{}: {} without a rank and iterations {} not pushed, such as a launcher",
                      base::printable(file.path), base::count_of(file.ranks.left_out, "process", "processes"),
                      file.ranks.left_out == 1 ? "is" : "are"));
  if (!file.ranks.not_a_rank.empty() && !std::exchange(warned_of_rank, true))
    warn(base::format(
        "{}: {} of the recorded program is not a rank, so {}: write a whole number from 0", base::printable(file.path),
        base::printable(file.ranks.not_a_rank),
        traces.front().rank->rank < 0 ? "it has none" : base::format("it has rank {}", traces.front().rank->rank)));
  std::set<std::string> said;
  for (const TraceToPush& trace : traces)
    for (const std::string& text : warnings_of(trace.head, file.path))
      if (said.insert(text).second) warn(text);
}

// The traces of a file that the store does not have. What it has is in the outcome.
std::vector<TraceToPush> Pusher::Impl::find_missing(const TraceFile& file, FileOutcome& outcome) {
  std::vector<TraceToPush> missing;
  for (const RankOfFile& rank : file.ranks.list) {
    const auto found = there.find(rank.number);
    if (found != there.end()) {
      outcome.is_damaged |= found->second;
      ++outcome.already_there;
      continue;
    }
    TraceToPush& trace = missing.emplace_back();
    trace.rank = &rank;
    trace.labels = {options.job, rank.rank, file.path, rank.run, {}};
    if (trace.labels.job.empty()) trace.labels.job = rank.job;
  }
  if (!missing.empty()) outcome.outcome = Outcome::Pushed;
  outcome.pushed = missing.size();
  return missing;
}

// Reads the rows of all of them before the first one is pushed: the file must still be the same then. False if nothing
// is to be pushed, which is reported.
bool Pusher::Impl::read_rows(TraceFile& file, std::vector<TraceToPush>& traces) {
  const auto read = [&] {
    // Without a job of their own, several traces of one rank have that of the file.
    const std::string job = file.ranks.list.size() > 1 && !file.ranks.has_several() ? job_of(file.reader) : "";
    for (TraceToPush& trace : traces) {
      if (trace.labels.job.empty()) trace.labels.job = job;
      file.reader.show_only(trace.rank->processes);
      trace.labels.helpers = trace.rank->helpers;
      trace.head = add_summary(trace.rows, file.reader, trace.rank->number, trace.labels);
      trace.day = day_of(trace.head);
    }
  };
  if (!can_read(file.path, read) || has_changed(file)) return false;
  warn_of(file, traces);
  std::stable_sort(traces.begin(), traces.end(),
                   [](const TraceToPush& a, const TraceToPush& b) { return a.day < b.day; });
  return true;
}

void Pusher::Impl::push_file(TraceFile& file) {
  const auto outcome = std::make_shared<FileOutcome>();
  outcome->file = file.path;
  outcome->outcome = Outcome::AlreadyThere;
  outcome->lacks_end = file.lacks_end;
  std::vector<TraceToPush> missing = find_missing(file, *outcome);
  if (missing.empty()) return report(*outcome);
  if (!read_rows(file, missing)) return;

  for (const TraceToPush& trace : missing) {
    outcome->is_damaged |= !trace.head.damage.empty();
    there[trace.rank->number] = !trace.head.damage.empty();  // two files may have it
    if (trace.day != day) publish();
    day = trace.day;
    batch.append(trace.rows);
    if (&trace == &missing.back()) complete.push_back(outcome);
    if (batch.bytes() >= kBytesOfBatch || batch.traces.rows() >= kTracesOfBatch) publish();
  }
}

void Pusher::Impl::push_some(std::span<const std::string> files) {
  std::vector<uint64_t> numbers;
  uint32_t from = UINT32_MAX, to = 0;
  std::vector<TraceFile> readable;
  for (const std::string& file : files) {
    can_read(file, [&] {
      // Opened first: that adds what dead processes left to the file, which changes its content.
      trace::Reader reader = open(file);
      if (reader.is_being_written()) return report({file, Outcome::StillRecording, {}});
      if (options.may_still_arrive && may_be_part(reader) && options.may_still_arrive(file))
        return report({file, Outcome::StillArriving, {}});
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
  ask(numbers, from, to);
  for (TraceFile& file : readable) push_file(file);
}

Pusher::Pusher(std::unique_ptr<Store> store, PushOptions options, Open open, Report report, Warn warn)
    : impl_(std::make_unique<Impl>()) {
  impl_->store = std::move(store);
  impl_->options = std::move(options);
  impl_->open = std::move(open);
  impl_->report = std::move(report);
  impl_->warn = std::move(warn);
}
Pusher::~Pusher() = default;

const Pusher::Counts& Pusher::counts() const { return impl_->counts; }

void Pusher::push(const std::vector<std::string>& given) {
  // A file that is not there is reported at once, and not after the retries of a server.
  std::vector<std::string> files;
  for (const std::string& file : given) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0 || ::access(file.c_str(), R_OK) != 0)
      impl_->report({file, Outcome::Unreadable, base::file_error("read", file, errno).what()});
    else if (!S_ISREG(status.st_mode))  // to open a FIFO would wait for somebody who writes to it
      impl_->report({file, Outcome::Unreadable, "it is not a regular file; give the file of a trace"});
    else
      files.push_back(file);
  }
  try {
    const uint64_t before = impl_->counts.traces;
    impl_->there.clear();
    for (size_t at = 0; at < files.size(); at += kOpenFiles)
      impl_->push_some(std::span(files).subspan(at, std::min(kOpenFiles, files.size() - at)));
    impl_->publish();
    if (impl_->counts.traces > before) impl_->store->tidy();
  } catch (const Error&) {
    impl_->is_prepared = false;
    impl_->batch = {};
    impl_->complete.clear();
    throw;
  }
}

}  // namespace kymo::push
