#include "edge/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/output_path.h"
#include "convert/export_stream.h"
#include "edge/chrome.h"
#include "edge/kymo_trace.h"
#include "kymo/error.h"

namespace kymo::edge {

namespace {

// True if it already exists. An existing file is not changed.
bool check_file(const std::string& path) {
  const base::FileDescriptor file(open(base::output_path(path).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno != ENOENT) throw base::file_error("write", path, errno);
  return static_cast<bool>(file);
}

// Checks that a file can be created in the folder of `path`. It tries a temporary name, because another profiler may be
// writing the file itself.
void check_folder(const std::string& path) {
  std::string attempt = (std::filesystem::path(path).parent_path() / ".kymo-XXXXXX").string();
  if (!base::FileDescriptor(mkostemp(attempt.data(), O_CLOEXEC))) throw base::file_error("write", path, errno);
  unlink(attempt.c_str());
}

std::string absolute(const std::string& path) {
  std::error_code unknown;  // if the working folder no longer exists, opening the file reports it
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  return path.empty() || unknown ? path : whole.string();
}

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

struct Claims {
  std::mutex mutex;
  std::set<std::string> paths;
};
Claims& claims() {
  static auto& all = *new Claims;  // for profilers of threads that outlive main()
  return all;
}

}  // namespace

Outputs::Claim::Claim(const std::string& given) : path(absolute(given)) {
  if (path.empty()) return;
  const std::lock_guard lock(claims().mutex);
  if (!claims().paths.insert(normal(path)).second)
    throw Error("cannot write " + given +
                ": another EdgeProfiler already writes this file; give each a name of its own");
}

Outputs::Claim::~Claim() {
  if (path.empty()) return;
  const std::lock_guard lock(claims().mutex);
  claims().paths.erase(normal(path));
}

Outputs::Outputs(const std::string& trace_file, const std::string& kymo_file)
    : trace_name_(trace_file), trace_file_(trace_file), kymo_file_(kymo_file) {
  if (!trace_file.empty()) {
    check_file(trace_file_.path);
    check_folder(trace_file_.path);
  }
  if (!kymo_file.empty() && !check_file(kymo_file_.path)) check_folder(kymo_file_.path);
}

void Outputs::write_trace(const ResultData& result) const {
  convert::FileStream file(trace_file_.path);
  if (!trace_file_.path.ends_with(".gz")) {
    write_chrome(result, trace_name_, file);
    file.finish();
    return;
  }
  convert::GzipStream compressed(file);
  write_chrome(result, trace_name_, compressed);
  compressed.finish();
}

void Outputs::write(const ResultData& result) const {
  std::exception_ptr wrong;
  try {
    if (!trace_file_.path.empty()) write_trace(result);
  } catch (...) {
    wrong = std::current_exception();
  }
  if (!kymo_file_.path.empty()) {
    try {
      write_kymo_trace(result, kymo_file_.path);
    } catch (...) {
      if (wrong == nullptr) throw;
    }
  }
  if (wrong != nullptr) std::rethrow_exception(wrong);
}

}  // namespace kymo::edge
