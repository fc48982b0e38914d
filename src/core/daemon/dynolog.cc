#include "daemon/dynolog.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/kineto_config.h"
#include "daemon/output.h"
#include "json/document.h"
#include "wire/fabric.h"

namespace kymo::daemon {
namespace {

constexpr size_t kShortestToken = 16, kLongestToken = 1024;

std::string read_token(const std::string& path) {
  const base::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    throw InvalidArgument(base::format("--token: {}", base::file_error("read", path, errno).what()));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw InvalidArgument(base::format("other users can read the token in {}; chmod it to 600", path));
  std::string token(kLongestToken + 1, '\0');
  token.resize(base::read_at(file, path, 0, std::as_writable_bytes(std::span(token))));
  while (token.ends_with('\n')) token.pop_back();
  if (token.size() < kShortestToken || token.size() > kLongestToken) {
    throw InvalidArgument(base::format("the token in {} has {} characters; {} to {} are allowed", path, token.size(),
                                       kShortestToken, kLongestToken));
  }
  return token;
}

// Takes the same time no matter where the texts differ.
bool is_same_token(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < one.size(); ++i) differs |= static_cast<unsigned char>(one[i] ^ other[i]);
  return differs == 0;
}

// A job's number; 0: none. dyno cannot name a job that is not a number.
std::optional<int64_t> job_number(const std::string& job) {
  if (job.empty()) return 0;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(job.data(), job.data() + job.size(), number);
  return error == std::errc{} && end == job.data() + job.size() ? std::optional(number) : std::nullopt;
}

bool is_selected(const wire::RpcTrigger& asked, const Program& program) {
  std::vector<int32_t> pids{program.entry().pid, program.inner_pid()};
  pids.insert(pids.end(), program.entry().parents.begin(), program.entry().parents.end());
  const auto job = job_number(program.entry().job);
  return job && wire::rpc_selects(asked, *job, pids);
}

// Empty: this host has no such address.
base::FileDescriptor listen_at(const TcpAddress& address, Log& log) {
  constexpr int kBacklog = 64;
  base::FileDescriptor socket(::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.address.ss_family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (socket && bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.address), address.length) == 0 &&
      ::listen(socket.get(), kBacklog) == 0)
    return socket;
  if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) {
    log.say(base::format("this host has no address {}", address.text()));
    return {};
  }
  const std::string why = base::format(
      "cannot listen at {}: {}; stop the process that listens there, or give another address with --dynolog-address",
      address.text(), std::strerror(errno));
  if (errno == EADDRINUSE) throw Taken(why);
  throw Error(why);
}

std::string failed_status(const std::string& why) {
  return base::format("{{\"status\":{}}}", base::json_string(base::format("failed with exception = {}", why)));
}

}  // namespace

DynologOptions read_dynolog_options(const DaemonOptions& options) {
  DynologOptions dynolog;
  dynolog.is_on = options.dynolog;
  if (!options.dynolog) {
    if (!options.dynolog_folder.empty() || !options.dynolog_addresses.empty() || !options.token_file.empty())
      throw InvalidArgument("--dynolog-dir, --dynolog-address and --token need --dynolog; add it");
    return dynolog;
  }
  dynolog.folder = options.dynolog_folder;
  const char* from_environment = base::environment("KINETO_IPC_SOCKET_DIR");
  if (dynolog.folder.empty() && from_environment != nullptr) dynolog.folder = from_environment;
  if (!options.token_file.empty()) dynolog.token = read_token(options.token_file);
  dynolog.addresses = parse_tcp_addresses(
      options.dynolog_addresses.empty() ? "127.0.0.1,::1" : options.dynolog_addresses, wire::kRpcPort);
  for (const TcpAddress& address : dynolog.addresses) {
    if (!address.is_loopback && dynolog.token.empty()) {
      throw InvalidArgument(
          base::format("{} can be reached from other hosts; give a token file with --token", address.text()));
    }
  }
  return dynolog;
}

std::string describe(const DynologOptions& options) {
  if (!options.is_on) return {};
  return base::format("{}{}", options.folder.empty() ? "@" : options.folder + "/", wire::kFabricDaemonName);
}

Dynolog::Dynolog(Loop& loop, Log& log, Programs& programs, Triggers& triggers, const DynologOptions& options)
    : log_(log),
      programs_(programs),
      triggers_(triggers),
      token_(options.token),
      kineto_(loop, log, programs, triggers, options.folder),
      calls_(loop, true,
             [this](std::string_view untrusted, std::optional<uint32_t> uid) { return reply(untrusted, uid); }) {
  listen(options.addresses);
  log.say(base::format("programs with libkineto are served at {}", describe(options)));
}

void Dynolog::listen(const std::vector<TcpAddress>& addresses) {
  bool is_any = false;
  for (const TcpAddress& address : addresses) {
    base::FileDescriptor socket = listen_at(address, log_);
    if (!socket) continue;
    log_.say(base::format("dyno is served at {}", own_address(socket.get()).value_or(address).text()));
    calls_.serve(std::move(socket));
    is_any = true;
  }
  if (!is_any) throw Error("this host has none of the addresses for dyno; give one with --dynolog-address");
}

std::optional<std::string> Dynolog::reply(std::string_view untrusted, std::optional<uint32_t> uid) {
  const auto frame = wire::read_rpc_frame(base::as_bytes(untrusted));
  if (!frame) {
    log_.warn(base::format("a call was refused: {}", frame.reason()));
    return std::nullopt;
  }
  if (!*frame) return "";
  const std::string text = answer(**frame, uid);
  if (text.empty()) return std::nullopt;
  const auto made = wire::rpc_frame(text);
  if (!made) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(made->data()), made->size());
}

std::optional<Asker> Dynolog::asker_of(std::string_view untrusted, std::optional<uint32_t> uid) const {
  if (uid) return Asker{*uid};
  if (token_.empty()) return std::nullopt;
  try {
    const json::Document request(untrusted, json::RepeatedNames::LastCounts);
    const auto token = request.root().find("token");
    if (token && is_same_token(token->text("token"), token_)) return Asker{geteuid()};
  } catch (const Error&) {  // no JSON, no token
  }
  return std::nullopt;
}

std::string Dynolog::answer(std::string_view untrusted, std::optional<uint32_t> uid) {
  const wire::RpcReading reading = wire::read_rpc_request(untrusted);
  if (!reading.request) {
    log_.warn(base::format("a call was refused: {}", reading.reason));
    return reading.answer;
  }
  const auto asker = asker_of(untrusted, uid);
  if (!asker) {
    log_.warn("a call from the network was refused: it has no token, or a wrong one");
    return failed_status("a request from the network needs this daemon's token");
  }
  if (const auto* asked = std::get_if<wire::RpcTrigger>(&*reading.request)) return trigger(*asked, *asker);
  if (std::holds_alternative<wire::RpcGetVersion>(*reading.request)) return wire::rpc_version(base::kVersion);
  if (std::holds_alternative<wire::RpcGetStatus>(*reading.request)) return wire::rpc_status(int64_t{1});
  return wire::rpc_status(false);  // there are no accelerator counters to pause
}

std::string Dynolog::trigger(const wire::RpcTrigger& asked, const Asker& asker) {
  const wire::ConfigReading config = wire::read_config(asked.config);
  if (!config.request) return failed_status(config.reason());
  const auto wanted = trigger_of_config(*config.request);
  if (!wanted) return failed_status(wanted.reason());

  wire::RpcTriggered result;
  std::vector<uint64_t> free;
  for (const auto& [id, program] : programs_) {
    if (!asker.may_see(program->entry().uid) || !is_there(*program) || !is_selected(asked, *program)) continue;
    if (std::ranges::find(result.matched, program->inner_pid()) != result.matched.end())
      continue;  // connected with both protocols
    result.matched.push_back(program->inner_pid());
    // As dynolog: when there are enough, the others are neither triggered nor counted as busy.
    if (asked.process_limit >= 0 && free.size() >= static_cast<uint64_t>(asked.process_limit)) continue;
    if (program->is_busy()) {
      ++result.activities_busy;
    } else {
      free.push_back(id);
      result.activities_triggered.push_back(program->inner_pid());
    }
  }
  if (!free.empty()) {
    const auto started = triggers_.begin(*wanted, asker, {}, asked.config, free);
    if (started.id == 0) return failed_status(started.text);
    log_.say(base::format("trigger {}: {}, requested by dyno of {}", started.id, processes_text(started.targets.size()),
                          user_name(asker.uid)));
  }
  return wire::rpc_triggered(result);
}

}  // namespace kymo::daemon
