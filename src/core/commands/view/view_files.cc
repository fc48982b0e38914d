#include "commands/view/view_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analyze/diff/diff.h"
#include "analyze/report/report.h"
#include "analyze/summary.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/programs.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "commands/read/diff.h"
#include "commands/read/report.h"
#include "trace/append_file.h"

namespace kymo::cli {

namespace {

// Enough for the description of the first process, which differs between two traces.
std::string head_of(const base::FileDescriptor& file) {
  std::string head(1024, '\0');
  const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
  head.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return head;
}

}  // namespace

ViewFiles::ViewFiles(const std::vector<Path>& paths) {
  for (const auto& [path, in_folder] : paths) {
    try {
      open(path);
    } catch (const Error& error) {
      if (!in_folder) throw;
      left_out_.push_back(error.what());
      say(base::format("left out: {}", error.what()));
    }
  }
  if (files_.empty()) throw Error("no file of the folder can be read: name a trace");
}

void ViewFiles::open(const std::string& path) {
  File file;
  file.name = file.path = path;
  auto copy = std::make_unique<base::TemporaryFile>();
  if (import_file({path, copy->path(), copy->name()})) {
    file.imported = std::move(copy);
    file.path = file.imported->path();
    readers_.emplace_back(file.path, path);
  } else {
    readers_.push_back(open_trace_to_follow(path));
  }
  file.opened = base::FileDescriptor(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (file.opened && ::fstat(file.opened.get(), &status) == 0) {
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.bytes = static_cast<uint64_t>(status.st_size);
    file.head = head_of(file.opened);
  }
  files_.push_back(std::move(file));
}

trace::Reader ViewFiles::open_again(uint32_t number, const serve::IsGone& is_gone) const {
  const File& file = files_.at(number);
  if (const Fate found = fate(file, 0); !found.is_intact)
    throw Error(base::format("{}: run kymo view again to see the file as it is now", found.what));
  // The same file again, whichever file has its path now.
  trace::Reader reader(file.opened ? base::format("/proc/self/fd/{}", file.opened.get()) : file.path, file.name);
  if (is_gone)
    reader.on_read([is_gone](const trace::EventChunk&) {
      if (is_gone()) throw serve::Abandoned();
    });
  return reader;
}

// `bytes` of it were read.
ViewFiles::Fate ViewFiles::fate(const File& file, uint64_t bytes) const {
  Fate found;
  const std::string name = base::printable(file.name);
  struct stat status {};
  if (file.opened && ::fstat(file.opened.get(), &status) == 0) {
    const uint64_t before = std::max(bytes, file.bytes), now = static_cast<uint64_t>(status.st_size);
    if (now < before)
      found.what = base::format("{} became shorter, from {} to {} bytes", name, before, now);
    else if (!head_of(file.opened).starts_with(file.head))
      found.what = base::format("{} was overwritten with other content", name);
    found.is_intact = found.what.empty();
  }
  if (::stat(file.path.c_str(), &status) != 0)
    found.what = base::format("{} cannot be read any more ({})", name, std::strerror(errno));
  else if (status.st_dev != file.device || status.st_ino != file.inode)
    found.what = base::format("{} was replaced by another file", name);
  return found;
}

std::string ViewFiles::trouble(uint32_t number, uint64_t bytes) {
  File& file = files_.at(number);
  const Fate found = fate(file, bytes);
  std::string text;
  if (!found.what.empty())
    text = base::format("{}: {}; run kymo view again to see the file as it is now", found.what,
                        found.is_intact ? "what was in it before is still shown"
                                        : "only what was read before is still shown, without totals and reports");
  if (text != file.trouble && !text.empty()) say(text);
  file.trouble = text;
  return text;
}

serve::Analyses ViewFiles::analyses() {
  serve::Analyses all;
  all.reopen = [this](uint32_t file, const serve::IsGone& is_gone) { return open_again(file, is_gone); };
  all.is_being_written = [this](uint32_t file) {
    return files_.at(file).imported == nullptr && trace::is_being_written(files_.at(file).path);
  };
  all.report = [this](uint32_t file, const serve::IsGone& is_gone) {
    const trace::Reader reader = open_again(file, is_gone);
    const analyze::Summary summary = analyze::summarise(reader);
    const ReportPage page = read_report(reader, files_.at(file).name, summary);
    return report_json(page, Ledger(summary, page.report.problems));
  };
  all.idle = [this](uint32_t file, const serve::IsGone& is_gone) {
    return idle_json(analyze::make_report(open_again(file, is_gone)));
  };
  all.diff = [this](uint32_t base, uint32_t other, const serve::IsGone& is_gone) {
    return diff_json(analyze::compare({analyze::iteration_sums(open_again(base, is_gone))},
                                      {analyze::iteration_sums(open_again(other, is_gone))}),
                     {});
  };
  all.trouble = [this](uint32_t file, uint64_t bytes) { return trouble(file, bytes); };
  return all;
}

}  // namespace kymo::cli
