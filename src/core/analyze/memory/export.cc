#include "analyze/memory/export.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "analyze/memory/page.h"
#include "analyze/memory/profile.h"
#include "analyze/memory/snapshot.h"
#include "analyze/memory/timeline_json.h"
#include "base/file.h"
#include "base/text.h"
#include "convert/export_stream.h"
#include "kymo/error.h"

namespace kymo::memory {

namespace {

struct Source {
  const trace::Reader& reader;
  const std::string& device;
  Profile& profile;
};

void write_html(const Source& source, convert::ExportStream& sink) {
  write_page(source.profile, source.reader.path(), sink);
}
void write_timeline(const Source& source, convert::ExportStream& sink) {
  write_timeline_json(source.reader, source.device, source.profile.temporaries, sink);
}
void write_raw(const Source& source, convert::ExportStream& sink) {
  write_raw_json(source.reader, source.device, source.profile.temporaries, sink);
}
void write_pickle(const Source& source, convert::ExportStream& sink) {
  write_snapshot(source.reader, source.device, sink);
}

void write_copy(const Source& source, convert::ExportStream& sink) {
  const std::string& path = source.reader.path();
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw base::file_error("read", path, errno);
  std::vector<std::byte> piece(convert::kFlushAt);
  for (uint64_t at = 0;;) {
    const size_t got = base::read_at(file, path, at, piece);
    if (got == 0) return;
    sink.write({reinterpret_cast<const char*>(piece.data()), got});
    at += got;
  }
}

struct ProfileForm {
  std::string_view ending;
  void (*write)(const Source&, convert::ExportStream&);
  bool compressed = false;
  size_t timeline_points = 0;
};

constexpr ProfileForm kProfileForms[] = {
    {".html", write_html, false, kPageTimelinePoints},
    {".raw.json", write_raw},
    {".raw.json.gz", write_raw, true},
    {".json", write_timeline},
    {".json.gz", write_timeline, true},
    {".pickle", write_pickle},
    {".kymo", write_copy},
};

const ProfileForm& profile_form_of(const std::string& path) {
  for (const ProfileForm& form : kProfileForms)
    if (path.size() > form.ending.size() && path.ends_with(form.ending)) return form;
  throw InvalidArgument(
      base::format("cannot tell the form of the memory profile '{}' from its name: let it end in .html, .json, "
                   ".raw.json (either also .gz), .pickle or .kymo",
                   path));
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {
  }, second{};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

void check_profile_name(const std::string& path) { profile_form_of(path); }

void export_profile(const trace::Reader& reader, const std::string& path, const ExportOptions& options) {
  const ProfileForm& form = profile_form_of(path);
  if (is_same_file(reader.path(), path))
    throw InvalidArgument(base::format("'{}' is the trace itself: choose another name for its memory profile", path));
  Profile profile = read_profile(reader, {options.device, form.timeline_points});
  if (profile.is_empty())
    throw Error(
        base::format("{} holds no allocations: record with 'kymo record --memory', or with a program that tells "
                     "of its own",
                     reader.path()));
  convert::FileStream file(path);
  const Source source{reader, options.device, profile};
  if (form.compressed) {
    convert::GzipStream gzip(file);
    form.write(source, gzip);
    gzip.finish();
  } else {
    form.write(source, file);
    file.finish();
  }
}

}  // namespace kymo::memory
