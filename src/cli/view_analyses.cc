#include "cli/view_analyses.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "analyze/diff/diff.h"
#include "analyze/report/report.h"
#include "analyze/summary.h"
#include "base/file.h"
#include "cli/diff_output.h"
#include "cli/ledger.h"
#include "cli/report_output.h"
#include "cli/trace_file.h"
#include "import/import.h"
#include "trace/append_file.h"

namespace kymo::cli {

ViewFiles::ViewFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    File& file = files_.emplace_back();
    file.name = file.path = path;
    if (import::format_of(path)) {
      file.imported = std::make_unique<ImportedCopy>();
      file.path = file.imported->path();
      import::import_trace(path, file.path);
      readers_.emplace_back(file.path, path);
    } else {
      readers_.push_back(open_trace_to_follow(path));
    }
  }
}

ViewFiles::ImportedCopy::ImportedCopy()
    : path_((std::filesystem::temp_directory_path() / "kymo-view-XXXXXX").string()) {
  const base::FileDescriptor made(::mkostemp(path_.data(), O_CLOEXEC));
  if (!made) throw base::file_error("write", path_, errno);
}

ViewFiles::ImportedCopy::~ImportedCopy() { ::unlink(path_.c_str()); }

trace::Reader ViewFiles::reopen(uint32_t file) const { return {files_.at(file).path, files_.at(file).name}; }

serve::Analyses ViewFiles::analyses() const {
  serve::Analyses all;
  all.reopen = [this](uint32_t file) { return reopen(file); };
  all.is_being_written = [this](uint32_t file) {
    return files_.at(file).imported == nullptr && trace::is_being_written(files_.at(file).path);
  };
  all.report = [this](uint32_t file) {
    const trace::Reader reader = reopen(file);
    const analyze::Summary summary = analyze::summarise(reader);
    const ReportPage page{files_.at(file).name, summary, analyze::make_report(reader), {}};
    return report_json(page, Ledger(summary, page.report.problems));
  };
  all.idle = [this](uint32_t file) { return idle_json(analyze::make_report(reopen(file))); };
  all.diff = [this](uint32_t base, uint32_t other) {
    return diff_json(
        analyze::compare({analyze::iteration_sums(reopen(base))}, {analyze::iteration_sums(reopen(other))}), {});
  };
  return all;
}

}  // namespace kymo::cli
