#include "push/pusher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "push/batch.h"
#include "push/labels.h"
#include "push/ranks.h"
#include "push/store.h"
#include "push/trace_rows.h"

namespace kymo::push {

struct Pusher::Impl {
  Impl(std::unique_ptr<Store> given, PushOptions chosen, Open open_file, Report on_file, Warn on_retry)
      : options(std::move(chosen)),
        open(std::move(open_file)),
        report([this, on_file = std::move(on_file)](const FileOutcome& file) {
          if (!is_repeat) on_file(file);
        }),
        warn(std::move(on_retry)),
        store(std::move(given), options, warn),
        batch(store, counts, [this](const std::vector<PushedTrace>& traces) { report_pushed(traces); }) {}

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

  using Traces = std::map<uint64_t, KnownTrace>;

  bool has_other_labels(const KnownTrace& trace, bool can_have_rank) const;
  void push_batch(const std::vector<std::string>& files);
  void push_batches(const std::vector<std::string>& files);
  void push_file(TraceFile& file, Traces& there);
  std::vector<TraceToPush> find_missing(const TraceFile& file, const Traces& there, bool with_events,
                                        FileOutcome& outcome);
  bool read_rows(const TraceFile& file, trace::Reader& reader, std::vector<TraceToPush>& traces, bool with_events);
  bool remove_older(const TraceFile& file, uint64_t number);
  std::vector<std::string> with_other_labels();
  void warn_of(const TraceFile& file, const std::vector<TraceToPush>& traces);
  void look_for_losses();
  void check_damaged(const std::vector<PushedTrace>& traces);
  void report_pushed(const std::vector<PushedTrace>& traces);

  PushOptions options;
  Open open;
  Report report;
  Warn warn;
  PatientStore store;
  bool warned_of_rank = false;
  bool is_repeat = false;  // files are pushed again that were reported
  LossDetector losses;
  bool looks_for_losses = false, has_lost = false;
  Counts counts;
  Batch batch;
  struct Labelled {
    uint64_t number = 0;
    std::string file;
    bool can_have_rank = true;
  };
  std::vector<Labelled> labelled;  // the traces of this push, if it has labels
  std::set<uint64_t> not_kept;     // traces that the store could not read after they were pushed again
};

bool Pusher::Impl::has_other_labels(const KnownTrace& trace, bool can_have_rank) const {
  return (!options.job.empty() && options.job != trace.job) ||
         (can_have_rank && options.rank >= 0 && options.rank != trace.rank);
}

// What is the same for several ranks of a file is said once.
void Pusher::Impl::warn_of(const TraceFile& file, const std::vector<TraceToPush>& traces) {
  if (!warn) return;
  if (file.ranks.left_out > 0)
    warn(base::format("{}: {} without a rank and iterations {} not pushed, such as a launcher",
                      base::printable(file.path), base::count_of(file.ranks.left_out, "process", "processes"),
                      file.ranks.left_out == 1 ? "is" : "are"));
  std::set<std::string> said;
  for (const TraceToPush& trace : traces)
    for (const std::string& text : warnings_of(trace.head, file.path))
      if (said.insert(text).second) warn(text);
}

// Also after each push, before it is reported: what is lost after that is noticed.
void Pusher::Impl::look_for_losses() {
  if (!looks_for_losses) return;
  try {
    has_lost |= losses.look(store->content());
  } catch (const Error&) {  // the next push says why
  }
}

// If the store could not read the rows of a trace, a new attempt need not help: the same disk, or the same part of a
// table, may be broken. Then it is not pushed again and again.
void Pusher::Impl::check_damaged(const std::vector<PushedTrace>& traces) {
  std::vector<uint64_t> numbers;
  for (const PushedTrace& trace : traces)
    if (trace.was_damaged) numbers.push_back(trace.number);
  if (numbers.empty()) return;
  const Traces there = store.known(numbers);
  for (const PushedTrace& trace : traces) {
    const auto found = there.find(trace.number);
    if (!trace.was_damaged || found == there.end() || !found->second.lost_rows) continue;
    not_kept.insert(trace.number);
    trace.file->outcome = Outcome::NotKept;
    trace.file->reason = found->second.damage;
  }
}

void Pusher::Impl::report_pushed(const std::vector<PushedTrace>& traces) {
  look_for_losses();
  check_damaged(traces);
  for (const PushedTrace& trace : traces)
    if (trace.is_last) report(*trace.file);
}

// The traces of a file that the store does not have like this. What it has is in the outcome.
std::vector<TraceToPush> Pusher::Impl::find_missing(const TraceFile& file, const Traces& there, bool with_events,
                                                    FileOutcome& outcome) {
  std::vector<TraceToPush> missing;
  for (const RankOfFile& rank : file.ranks.list) {
    const auto found = there.find(rank.number);
    const bool is_known = found != there.end();
    const bool is_relabelled = is_known && has_other_labels(found->second, !rank.is_beside);
    const std::string damage = is_known ? found->second.damage : "";
    if (is_known && found->second.has_events == with_events && !is_relabelled && !found->second.lost_rows) {
      not_kept.erase(rank.number);
      outcome.is_damaged |= found->second.is_damaged;
      ++outcome.already_there;
      continue;
    }
    if (!damage.empty() && !is_relabelled && not_kept.contains(rank.number)) {
      outcome.outcome = Outcome::NotKept;
      outcome.reason = damage;
      continue;
    }
    if (!damage.empty() && warn)
      warn(base::format("{} is pushed again, because its rows cannot be read any more: {}", base::printable(file.path),
                        damage));
    TraceToPush& trace = missing.emplace_back();
    trace.rank = &rank;
    trace.labels = labels_of(file, rank, there, options);
    const bool has_rank = options.rank >= 0 || (is_known && found->second.rank >= 0);
    if (!file.ranks.not_a_rank.empty() && !has_rank && warn && !std::exchange(warned_of_rank, true))
      warn(base::format(
          "{}: {} of the recorded program is not a rank, so {}: write a whole number from 0, or use --rank",
          base::printable(file.path), base::printable(file.ranks.not_a_rank),
          rank.rank < 0 ? "it has none" : base::format("it has rank {}", rank.rank)));
    trace.is_relabelled = is_relabelled;
    trace.was_damaged = !damage.empty();
  }
  if (!missing.empty() && outcome.outcome == Outcome::AlreadyThere) outcome.outcome = Outcome::Pushed;
  outcome.pushed = missing.size();
  return missing;
}

// Reads the rows of all of them before the first one is pushed: the file must still be the same then. False if nothing
// is to be pushed, which is reported.
bool Pusher::Impl::read_rows(const TraceFile& file, trace::Reader& reader, std::vector<TraceToPush>& traces,
                             bool with_events) {
  const auto read = [&] {
    for (TraceToPush& trace : traces) {
      reader.show_only(trace.rank->processes);
      trace.labels.helpers = trace.rank->helpers;
      trace.head = add_summary(trace.rows, reader, trace.rank->number, trace.labels, with_events);
      trace.month = month_of(trace.head);
    }
  };
  if (!can_read(file.path, read) || has_changed(file)) return false;
  warn_of(file, traces);
  std::stable_sort(traces.begin(), traces.end(),
                   [](const TraceToPush& a, const TraceToPush& b) { return a.month < b.month; });
  return true;
}

// An older Kymo stored several traces of the file as one. It must not count beside them. False if it cannot be removed,
// which is reported.
bool Pusher::Impl::remove_older(const TraceFile& file, uint64_t number) {
  try {
    store.with_retries([&] { store->remove(number); });
    return true;
  } catch (const TryAgain&) {
    throw;
  } catch (const Error& error) {
    report(
        {file.path, Outcome::Unreadable,
         base::format("an older kymo stored several of its traces as the trace 0x{:016x}, which cannot be removed: {}",
                      number, error.what())});
    return false;
  }
}

void Pusher::Impl::push_file(TraceFile& file, Traces& there) {
  bool with_events = options.events;
  for (const RankOfFile& rank : file.ranks.list)
    if (const auto known = there.find(rank.number); known != there.end()) with_events |= known->second.has_events;
  std::vector<uint64_t> older = file.ranks.older(file.number);
  std::erase_if(older, [&](uint64_t number) { return !there.contains(number); });
  for (const uint64_t number : older) with_events |= there.at(number).has_events;

  const auto outcome = std::make_shared<FileOutcome>();
  outcome->file = file.path;
  outcome->outcome = Outcome::AlreadyThere;
  outcome->lacks_end = file.lacks_end;
  std::vector<TraceToPush> missing = find_missing(file, there, with_events, *outcome);
  std::optional<trace::Reader> reader;
  if (!missing.empty()) {
    const auto open_again = [&] {
      reader.emplace(open(file.path));
      file.find_processes(*reader);
    };
    if (!can_read(file.path, open_again)) return;
    choose_jobs(file, there, options, *reader, missing);
    if (!read_rows(file, *reader, missing, with_events)) return;
  }
  for (const uint64_t number : older) {
    if (!remove_older(file, number)) return;
    there.erase(number);
  }
  if (missing.empty()) return report(*outcome);

  if (with_events) batch.flush();
  for (size_t at = 0, first = 0; at < missing.size(); ++at) {
    const bool is_last = at + 1 == missing.size();
    outcome->is_damaged |= !missing[at].head.damage.empty();
    batch.add(missing[at], outcome, is_last);
    if (with_events && (is_last || missing[at + 1].month != missing[at].month)) {
      const auto of_month = std::span(missing).subspan(first, at + 1 - first);
      if (!batch.flush_with_events(*reader, of_month, [&] { return has_changed(file); })) return;
      first = at + 1;
    } else if (!with_events && batch.is_full()) {
      batch.flush();
    }
  }
  for (const TraceToPush& trace : missing) {
    counts.relabelled += trace.is_relabelled ? 1 : 0;
    KnownTrace& now = there[trace.rank->number] = {with_events, trace.labels.job, trace.labels.rank};
    now.is_damaged = !trace.head.damage.empty();  // two files may have it
  }
}

void Pusher::Impl::push_batch(const std::vector<std::string>& files) {
  std::vector<uint64_t> numbers;
  std::vector<TraceFile> readable;
  for (const std::string& file : files) {
    can_read(file, [&] {
      // Opened first: that adds what dead processes left to the file, which changes its content.
      trace::Reader reader = open(file);
      if (reader.is_being_written()) return report({file, Outcome::StillRecording, {}});
      if (options.may_still_arrive && may_be_part(reader) && options.may_still_arrive(file))
        return report({file, Outcome::StillArriving, {}});
      TraceFile trace(file);
      trace.lacks_end = lacks_end(reader);
      trace.ranks = find_ranks(reader, trace.number);
      if (trace.ranks.has_several() && options.rank >= 0)
        throw Error(base::format("it has the ranks {}, and --rank is for a trace of one rank; push it without --rank",
                                 text_of(trace.ranks)));
      const std::vector<uint64_t> older = trace.ranks.older(trace.number);
      numbers.insert(numbers.end(), older.begin(), older.end());
      for (const RankOfFile& rank : trace.ranks.list) {
        numbers.push_back(rank.number);
        if (!is_repeat && (!options.job.empty() || options.rank >= 0))
          labelled.push_back({rank.number, file, !rank.is_beside});
      }
      readable.push_back(std::move(trace));
    });
  }
  if (readable.empty()) return;
  store.prepare();
  Traces there = store.known(numbers);
  for (TraceFile& file : readable) push_file(file, there);
  batch.flush();
}

void Pusher::Impl::push_batches(const std::vector<std::string>& files) {
  for (size_t at = 0; at < files.size(); at += options.traces_of_batch) {
    const size_t count = std::min(options.traces_of_batch, files.size() - at);
    const auto begin = files.begin() + static_cast<std::ptrdiff_t>(at);
    push_batch({begin, begin + static_cast<std::ptrdiff_t>(count)});
  }
}

// Of this push, the files whose traces have another job or rank now than it gave them.
std::vector<std::string> Pusher::Impl::with_other_labels() {
  std::vector<uint64_t> numbers;
  for (const Labelled& one : labelled) numbers.push_back(one.number);
  const Traces there = store.marked(numbers);
  std::vector<std::string> found;
  for (const auto& [number, file, can_have_rank] : labelled)
    if (const auto trace = there.find(number); trace != there.end() && has_other_labels(trace->second, can_have_rank))
      if (found.empty() || found.back() != file) found.push_back(file);
  return found;
}

Pusher::Pusher(std::unique_ptr<Store> store, PushOptions options, Open open, Report report, Warn warn)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options), std::move(open), std::move(report),
                                   std::move(warn))) {}
Pusher::~Pusher() = default;
void Pusher::prepare() { impl_->store.prepare(); }

const Pusher::Counts& Pusher::counts() const {
  impl_->counts.retries = impl_->store.retries();
  return impl_->counts;
}

void Pusher::push(const std::vector<std::string>& given) {
  impl_->is_repeat = false;
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
    impl_->labelled.clear();
    impl_->push_batches(files);
    settle_labels([&] { return impl_->with_other_labels(); },
                  [&](const Files& some) {
                    impl_->is_repeat = true;
                    Counts counted = impl_->counts;  // with these files
                    impl_->push_batches(some);
                    counted.retries = impl_->counts.retries;
                    impl_->counts = counted;
                  },
                  [&](std::chrono::milliseconds time) { impl_->store.wait_for(time); });
  } catch (const Error&) {
    impl_->store.forget_prepared();
    impl_->batch.drop();
    throw;
  }
}

bool Pusher::has_lost_rows() {
  impl_->looks_for_losses = true;
  impl_->look_for_losses();
  const bool has_lost = std::exchange(impl_->has_lost, false);
  if (has_lost) impl_->store.forget_prepared();
  return has_lost;
}

uint64_t Pusher::remove_orphans() {
  constexpr std::chrono::hours kOrphanAge{24};
  impl_->store.prepare();
  const uint64_t before = attempt_of(std::chrono::system_clock::now() - kOrphanAge);
  uint64_t removed = 0;
  impl_->store.with_retries([&] { removed = impl_->store->remove_orphans(before); });
  return removed;
}

bool Pusher::remove(uint64_t trace) {
  impl_->store.prepare();
  bool was_there = false;
  impl_->store.with_retries([&] { was_there |= impl_->store->remove(trace); });
  return was_there;
}

}  // namespace kymo::push
