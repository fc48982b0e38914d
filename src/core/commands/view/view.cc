// `kymo view`: the timeline of traces in a browser.

#include "serve/view.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include "analyze/summary.h"
#include "base/cache_folder.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/output_path.h"
#include "base/printable.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/programs.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/view/program.h"
#include "commands/view/view_files.h"
#include "commands/view/view_query.h"
#include "convert/export_stream.h"
#include "options/command_line.h"
#include "serve/saved_page.h"
#include "serve/server.h"

extern char** environ;

namespace kymo::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  uint16_t port = 0;
  std::string output;
  bool no_browser = false, live = false;
};

uint16_t parse_port(const std::string& text) {
  const uint64_t port = base::parse_count(text);
  if (port < 1 || port > UINT16_MAX)
    throw InvalidArgument(base::format("'{}' is not a port: give 1 to {}", text, UINT16_MAX));
  return static_cast<uint16_t>(port);
}

// By the ending for our own traces, and by the first bytes for those of other tools.
bool is_trace(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  if (entry.path().extension() == ".kymo") return true;
  if (!entry.is_regular_file(error)) return false;
  try {
    return is_foreign_trace(entry.path().string());
  } catch (const Error&) {
    return true;  // opening it says what is wrong
  }
}

// A folder stands for the traces in it.
std::vector<ViewFiles::Path> find_files(const std::vector<std::string>& paths) {
  std::vector<ViewFiles::Path> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back({path});
      continue;
    }
    std::vector<std::string> inside;
    size_t others = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (is_trace(entry))
        inside.push_back(entry.path().string());
      else
        ++others;
    }
    if (error) throw Error(base::format("cannot read the folder {}: {}", base::printable(path), error.message()));
    if (inside.empty())
      throw Error(base::format("the folder {} has no trace of Kymo or of a tool that can be imported: name a trace",
                               base::printable(path)));
    if (others != 0)
      say(base::format("left out: {} of {} that {}", count_of(others, "entry", "entries"), base::printable(path),
                       others == 1 ? "is not a trace" : "are not traces"));
    std::sort(inside.begin(), inside.end());
    for (const std::string& file : inside) files.push_back({file, true});
  }
  return files;
}

bool has_screen() {
  const auto is_set = [](base::Variable variable) {
    const char* value = base::environment(variable);
    return value != nullptr && *value != 0;
  };
  return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

// Does not wait for the browser. False if there is no way to open one.
bool open_browser(const std::string& address, const sigset_t& mask) {
  if (!has_screen()) return false;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C ends the server, not the browser
  std::string program = "xdg-open", argument = address;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, program.c_str(), nullptr, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  return failed == 0;
}

// A page that kymo wrote before may be replaced, and nothing else: a name that is mistyped may be that of a source
// file.
void refuse_other_file(const std::string& output) {
  constexpr std::string_view kPage = "<!doctype html>";
  std::ifstream file(base::output_path(output), std::ios::binary);
  if (!file) return;
  std::string beginning(1 << 12, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(file.gcount()));
  const bool is_page = beginning.starts_with(kPage) && beginning.find("<title>kymo") != beginning.npos;
  if (!beginning.empty() && !is_page)
    throw Error(base::format("cannot write {}: it is there and is not a page of kymo view; name another file", output));
}

void write_page(const std::string& page, const std::string& output) {
  if (output == "-") return print(page);
  convert::FileStream file(output);
  file.write(page);
  file.finish();
}

// The secret part of all addresses of this user, so that a link works again when the command runs again. Only this user
// can read the file. Empty if it cannot be kept: then each run has another one.
std::string lasting_token() {
  const std::string folder = base::cache_folder();
  if (folder.empty()) return {};
  const std::string path = folder + "/view-token";
  try {
    constexpr size_t kDigits = 32;
    const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
        (status.st_mode & 077) == 0) {
      std::string token(kDigits, '\0');
      const size_t length = base::read_at(file, path, 0, std::as_writable_bytes(std::span(token)));
      if (length == kDigits && token.find_first_not_of("0123456789abcdef") == token.npos) return token;
    }
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    const std::string token = serve::random_token();
    base::AtomicFile stored(path);
    stored.write(std::as_bytes(std::span(token)));
    stored.commit();
    return token;
  } catch (const Error&) {  // a folder that cannot be written
    return {};
  }
}

// The same files have the same port, if it is free.
uint16_t usual_port(const std::vector<std::string>& paths) {
  constexpr uint16_t kFirst = 20'000, kPorts = 10'000;  // below those that systems give to clients
  std::string names;
  for (const std::string& path : paths) {
    std::error_code error;
    names += std::filesystem::weakly_canonical(path, error).string() + '\n';
  }
  return static_cast<uint16_t>(kFirst + base::hash(base::as_bytes(names)) % kPorts);
}

// Prints damage that was found while chunks were read, each once.
void show_damage(serve::View& view, std::vector<size_t>& shown) {
  shown.resize(view.sources().size());
  for (uint32_t file = 0; file < shown.size(); ++file) {
    const size_t known = view.problems(file).size();
    if (known <= shown[file]) continue;
    const bool all = known >= serve::View::kMaxProblems;
    const std::string others =
        known == 1 ? ""
                   : base::format(" ({}{} cannot be read in all)", all ? "at least " : "", count_of(known, "chunk"));
    const std::string name = shown.size() == 1 ? "" : base::printable(view.sources()[file]->reader().path()) + ": ";
    say(base::format("{}{}{}; the rest is shown", name, view.problems(file).front(), others));
    shown[file] = all ? SIZE_MAX : known;
  }
}

}  // namespace

int view_command(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "view", "kymo view FILE... [options]",
      "Shows traces as a timeline in a browser. Starts a web server that only this machine can reach, prints its\n"
      "address and opens a browser if there is a screen. Reads only what is shown, so traces may be larger than the\n"
      "memory. Ctrl-C ends it.",
      "kymo view run.kymo\nkymo view before.kymo after.kymo\nkymo view trace.json.gz --no-browser --port 8017\n"
      "kymo view run.kymo -o run.html");
  line.arguments("FILE", options.paths, "traces, also of other tools, or folders with traces");
  line.text(
      "--port", "N", [&](const std::string& text) { options.port = parse_port(text); },
      "the port of the server; default: the same one for the same\ntraces if it is free, otherwise any free one");
  line.value("-o,--output", "PAGE", options.output,
             "write one file that needs no server, such as run.html, for\nat most 1,000,000 events");
  line.flag("--no-browser", options.no_browser, "only print the address");
  line.flag("--live", options.live, "follow files that grow, even if no recorder is known to write them");
  if (!line.read(arguments)) return kDone;

  const std::vector<ViewFiles::Path> files = find_files(options.paths);
  ViewFiles opened(files);
  SignalInbox signals{SIGINT, SIGTERM, SIGHUP};
  std::vector<trace::Reader> readers = opened.take_readers();
  const bool names_files = readers.size() > 1;
  for (const trace::Reader& reader : readers)
    Ledger(analyze::summarise(reader), reader.problems()).show(names_files ? reader.path() : std::string());
  const bool follow = options.live || std::any_of(readers.begin(), readers.end(), [](const trace::Reader& reader) {
                        return reader.is_being_written();
                      });
  serve::View view(std::move(readers), {}, opened.reopen());
  view.set_left_out(opened.left_out());
  std::vector<size_t> damage_shown;
  if (!options.output.empty()) {
    std::vector<std::string> inputs;
    for (const ViewFiles::Path& file : files) inputs.push_back(file.path);
    refuse_input(options.output, inputs);
    if (options.output != "-") refuse_other_file(options.output);
    write_page(serve::saved_page(view, opened.analyses()), options.output);
    show_damage(view, damage_shown);
    return kDone;
  }
  serve::ServerOptions server_options;
  server_options.port = options.port;
  server_options.usual_port = usual_port(options.paths);
  server_options.token = lasting_token();
  server_options.follow = follow;
  serve::Analyses analyses = opened.analyses();
  ViewQuery query(view, analyses.reopen);
  analyses.query = [&](const std::string& statements, const serve::IsGone& is_gone) {
    return query.answer(statements, is_gone);
  };
  const serve::Server server(view, std::move(analyses), server_options);
  print(base::format("{}\n", server.address()));
  say(base::format("from another machine: ssh -L {0}:127.0.0.1:{0} HOST, then open this address there", server.port()));
  if (!options.no_browser && !open_browser(server.address(), signals.program_mask()) && has_screen())
    say("no browser was found (xdg-open): open the address yourself");
  say("Ctrl-C ends the server");
  while (!signals.wait(std::chrono::milliseconds(500))) show_damage(view, damage_shown);
  return kDone;
}

}  // namespace kymo::cli
