#include "push/pusher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "push/attempt.h"
#include "push/event_rows.h"
#include "push/label_conflict.h"
#include "push/trace_file.h"
#include "push/warnings.h"

namespace kymo::push {
namespace {

constexpr size_t kBytesOfBatch = 64 << 20, kTracesOfQuestion = 1'000;
constexpr std::chrono::hours kOrphanAge{24};

}  // namespace

struct Pusher::Impl {
  // A file whose rows are pushed, and what to report then.
  struct PushedFile {
    FileOutcome outcome;
    uint64_t number = 0;       // of its trace
    bool was_damaged = false;  // the store could not read its rows before
  };

  Impl(std::unique_ptr<Store> given, PushOptions chosen, Open open_file, Report on_file, Warn on_retry)
      : store(std::move(given)),
        options(std::move(chosen)),
        open(std::move(open_file)),
        report([this, on_file](const FileOutcome& file) {
          if (!is_repeat) on_file(file);
        }),
        warn(std::move(on_retry)) {}

  // To be called when all that is needed of the file was read. True: that is reported.
  bool has_changed(const TraceFile& file) {
    const bool has = file.has_changed();
    if (has) report({file.path, Outcome::Changed, {}});
    return has;
  }

  void wait_for(std::chrono::milliseconds time) {
    if (!options.wait)
      std::this_thread::sleep_for(time);
    else if (!options.wait(time))
      throw Error("interrupted");
  }

  // Runs `action` until it succeeds, at most `retries` more times.
  template <typename Action>
  void with_retries(Action&& action) {
    auto wait = options.first_wait;
    for (int left = options.retries;; --left) {
      try {
        return action();
      } catch (const TryAgain& problem) {
        if (left <= 0) throw TryAgain(base::format("{}; gave up after {} retries", problem.what(), options.retries));
        if (warn) warn(base::format("{}; next try in {} ms", problem.what(), wait.count()));
        ++counts.retries;
      }
      wait_for(wait);
      wait = std::min(wait * 2, options.longest_wait);
    }
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

  void prepare();
  std::map<uint64_t, KnownTrace> known(const std::vector<uint64_t>& traces);
  // Later than all that it replaces, and than the ones of this pusher that failed.
  uint64_t next_attempt() { return newest = new_attempt(newest); }
  bool has_other_labels(const KnownTrace& trace) const;
  void push_batch(const std::vector<std::string>& files);
  void push_batches(const std::vector<std::string>& files);
  std::vector<std::string> with_other_labels();
  void warn_of(const RowHead& head, const std::string& file);
  bool add_rows(const TraceFile& file, const trace::Reader& reader, const TraceLabels& labels, PushedFile& pushed);
  bool push_events(const TraceFile& file, const trace::Reader& reader, const TraceLabels& labels, PushedFile& pushed);
  void look_for_losses();
  void check_damaged(std::vector<PushedFile>& files);
  void report_pushed(std::vector<PushedFile> files);
  void flush();
  void drop_batch() {
    in_blocks.clear();
    blocks.clear();
  }

  std::unique_ptr<Store> store;
  PushOptions options;
  Open open;
  Report report;
  Warn warn;
  bool prepared = false, warned_of_rank = false;
  bool is_repeat = false;  // files are pushed again that were reported
  LossDetector losses;
  bool looks_for_losses = false, has_lost = false;
  Counts counts;
  SummaryBlocks blocks;
  std::vector<PushedFile> in_blocks;                       // what to report when the store has the blocks
  std::vector<std::pair<uint64_t, std::string>> labelled;  // the traces and files of this push, if it has labels
  std::set<uint64_t> not_kept;  // traces that the store could not read after they were pushed again
  uint32_t month = 0;           // of the blocks
  uint64_t newest = 0;          // attempt that is known
};

void Pusher::Impl::prepare() {
  if (prepared) return;
  try {
    with_retries([&] {
      if (store->prepare() && options.on_new_tables) options.on_new_tables();
    });
  } catch (const TryAgain&) {
    throw;
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  prepared = true;
}

// With all their rows read.
std::map<uint64_t, KnownTrace> Pusher::Impl::known(const std::vector<uint64_t>& traces) {
  std::map<uint64_t, KnownTrace> found;
  with_retries([&] {
    found = store->known(traces);
    store->check_rows(found);
  });
  for (const auto& [number, trace] : found) newest = std::max(newest, trace.attempt);
  return found;
}

bool Pusher::Impl::has_other_labels(const KnownTrace& trace) const {
  return (!options.job.empty() && options.job != trace.job) || (options.rank >= 0 && options.rank != trace.rank);
}

void Pusher::Impl::warn_of(const RowHead& head, const std::string& file) {
  if (!warn) return;
  for (const std::string& text : warnings_of(head, file)) warn(text);
  if (head.not_a_rank.empty() || std::exchange(warned_of_rank, true)) return;
  warn(base::format("{} of the recorded program is not a rank: write a whole number from 0, or use --rank",
                    base::printable(head.not_a_rank)));
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
void Pusher::Impl::check_damaged(std::vector<PushedFile>& files) {
  std::vector<uint64_t> numbers;
  for (const PushedFile& file : files)
    if (file.was_damaged) numbers.push_back(file.number);
  if (numbers.empty()) return;
  const std::map<uint64_t, KnownTrace> there = known(numbers);
  for (PushedFile& file : files) {
    const auto found = there.find(file.number);
    if (!file.was_damaged || found == there.end() || !found->second.lost_rows) continue;
    not_kept.insert(file.number);
    file.outcome.outcome = Outcome::NotKept;
    file.outcome.reason = found->second.damage;
  }
}

void Pusher::Impl::report_pushed(std::vector<PushedFile> files) {
  look_for_losses();
  check_damaged(files);
  for (const PushedFile& file : files) report(file.outcome);
}

void Pusher::Impl::flush() {
  if (in_blocks.empty()) return;
  uint64_t attempt = 0;
  with_retries([&] {
    attempt = next_attempt();
    for (const Block* block : blocks.of_traces())
      if (block->rows() > 0) store->insert(*block, attempt);
    store->insert(blocks.row_counts, attempt);
  });
  // A mark may be there twice: that has no effect.
  with_retries([&] { store->insert(blocks.traces, attempt); });
  counts.traces += in_blocks.size();
  counts.rows += blocks.rows();
  std::vector<PushedFile> pushed = std::move(in_blocks);
  drop_batch();
  report_pushed(std::move(pushed));
}

// False if nothing was added, which is reported.
bool Pusher::Impl::add_rows(const TraceFile& file, const trace::Reader& reader, const TraceLabels& labels,
                            PushedFile& pushed) {
  SummaryBlocks rows;
  RowHead head;
  if (!can_read(file.path, [&] { head = add_summary(rows, reader, file.number, labels, false); })) return false;
  if (has_changed(file)) return false;
  warn_of(head, file.path);
  blocks.append(rows);
  pushed.outcome.is_damaged = !head.damage.empty() || head.has_several_ranks();
  in_blocks.push_back(pushed);
  if (blocks.bytes() >= kBytesOfBatch) flush();
  return true;
}

// Events are too many to keep: a new attempt reads them again. False if the file has changed, which is reported.
bool Pusher::Impl::push_events(const TraceFile& file, const trace::Reader& reader, const TraceLabels& labels,
                               PushedFile& pushed) {
  flush();
  const RowHead head = add_summary(blocks, reader, file.number, labels, true);
  if (has_changed(file)) return drop_batch(), false;
  warn_of(head, file.path);
  uint64_t attempt = 0, rows = 0;
  with_retries([&] {
    attempt = next_attempt();
    for (const Block* block : blocks.of_traces())
      if (block->rows() > 0) store->insert(*block, attempt);
    const auto sink = store->events(attempt);
    rows = add_events(reader, head, [&](const Block& block) { sink->add(block); });
    sink->finish();
    Block row_counts = blocks.row_counts;
    add_row_count(row_counts, head, kEvents, rows);
    store->insert(row_counts, attempt);
  });
  if (has_changed(file)) return drop_batch(), false;
  with_retries([&] { store->insert(blocks.traces, attempt); });
  counts.traces += 1;
  counts.rows += blocks.rows();
  counts.events += rows;
  blocks.clear();
  pushed.outcome.is_damaged = !head.damage.empty() || head.has_several_ranks();
  report_pushed({pushed});
  return true;
}

void Pusher::Impl::push_batch(const std::vector<std::string>& files) {
  std::vector<uint64_t> numbers;
  std::vector<TraceFile> readable;
  for (const std::string& file : files) {
    can_read(file, [&] {
      // Opened first: that adds what dead processes left to the file, which changes its content.
      const trace::Reader reader = open(file);
      if (reader.is_being_written()) return report({file, Outcome::StillRecording, {}});
      if (options.may_still_arrive && may_be_part(reader) && options.may_still_arrive(file))
        return report({file, Outcome::StillArriving, {}});
      numbers.push_back(readable.emplace_back(file).number);
      readable.back().lacks_end = lacks_end(reader);
      if (!is_repeat && (!options.job.empty() || options.rank >= 0)) labelled.emplace_back(numbers.back(), file);
    });
  }
  if (readable.empty()) return;
  prepare();
  std::map<uint64_t, KnownTrace> there = known(numbers);
  for (const TraceFile& file : readable) {
    const auto found = there.find(file.number);
    const bool is_known = found != there.end();
    const bool with_events = options.events || (is_known && found->second.has_events);
    const bool is_relabelled = is_known && has_other_labels(found->second);
    const std::string damage = is_known ? found->second.damage : "";
    if (is_known && found->second.has_events == with_events && !is_relabelled && !found->second.lost_rows) {
      not_kept.erase(file.number);
      report({file.path, Outcome::AlreadyThere, {}, found->second.is_damaged, file.lacks_end});
      continue;
    }
    if (!damage.empty() && !is_relabelled && not_kept.contains(file.number)) {
      report({file.path, Outcome::NotKept, damage});
      continue;
    }
    if (!damage.empty() && warn)
      warn(base::format("{} is pushed again, because its rows cannot be read any more: {}", base::printable(file.path),
                        damage));
    TraceLabels labels{options.job, options.rank, file.path};
    if (is_known && labels.job.empty()) labels.job = found->second.job;
    if (is_known && labels.rank < 0) labels.rank = found->second.rank;
    std::optional<trace::Reader> reader;
    uint32_t its_month = 0;
    const auto open_file = [&] {
      reader.emplace(open(file.path));
      its_month = month_of(*reader);
    };
    if (!can_read(file.path, open_file)) continue;
    if (!with_events && std::exchange(month, its_month) != its_month) flush();
    PushedFile pushed{{file.path, Outcome::Pushed, {}, false, file.lacks_end}, file.number, !damage.empty()};
    if (!(with_events ? push_events(file, *reader, labels, pushed) : add_rows(file, *reader, labels, pushed))) continue;
    counts.relabelled += is_relabelled ? 1 : 0;
    KnownTrace& now = there[file.number] = {with_events, labels.job, labels.rank};  // two files may have it
    now.is_damaged = pushed.outcome.is_damaged;
  }
  flush();
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
  std::vector<std::string> found;
  for (size_t at = 0; at < labelled.size(); at += kTracesOfQuestion) {
    const auto begin = labelled.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kTracesOfQuestion, labelled.size() - at));
    std::vector<uint64_t> numbers;
    for (auto one = begin; one != end; ++one) numbers.push_back(one->first);
    std::map<uint64_t, KnownTrace> there;
    with_retries([&] { there = store->known(numbers); });
    for (auto one = begin; one != end; ++one)
      if (const auto trace = there.find(one->first); trace != there.end() && has_other_labels(trace->second))
        found.push_back(one->second);
  }
  return found;
}

Pusher::Pusher(std::unique_ptr<Store> store, PushOptions options, Open open, Report report, Warn warn)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options), std::move(open), std::move(report),
                                   std::move(warn))) {}
Pusher::~Pusher() = default;
void Pusher::prepare() { impl_->prepare(); }
const Pusher::Counts& Pusher::counts() const { return impl_->counts; }

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
                    impl_->push_batches(some);
                  },
                  [&](std::chrono::milliseconds time) { impl_->wait_for(time); });
  } catch (const Error&) {
    impl_->prepared = false;
    impl_->drop_batch();
    throw;
  }
}

bool Pusher::has_lost_rows() {
  impl_->looks_for_losses = true;
  impl_->look_for_losses();
  const bool has_lost = std::exchange(impl_->has_lost, false);
  if (has_lost) impl_->prepared = false;
  return has_lost;
}

void Pusher::remove_orphans() {
  impl_->prepare();
  const uint64_t before = attempt_of(std::chrono::system_clock::now() - kOrphanAge);
  impl_->with_retries([&] { impl_->store->remove_orphans(before); });
}

bool Pusher::remove(uint64_t trace) {
  impl_->prepare();
  bool was_there = false;
  impl_->with_retries([&] { was_there |= impl_->store->remove(trace); });
  return was_there;
}

}  // namespace kymo::push
