#include "base/temporary_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::base {

TemporaryFile::TemporaryFile() {
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  if (missing) throw Error("there is no folder for temporary files: set TMPDIR to one");
  path_ = (folder / "kymo-XXXXXX").string();
  name_ = format("a temporary file in {} (set TMPDIR to another folder)", folder.string());
  if (!unfinished_.make(path_)) throw file_error("write", name_, errno);
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

}  // namespace kymo::base
