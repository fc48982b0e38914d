#include "daemon/server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/output.h"
#include "wire/field_codec.h"

namespace kymo::daemon {
namespace {

constexpr int kAcceptedARound = 64;
// Above this, a command gets only the final states of its targets, until it has caught up.
constexpr size_t kMuchUnread = 256 << 10;

base::FileDescriptor spare_descriptor() { return base::FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// The only packet that a refused peer gets.
void send_refusal(int socket, wire::RefusedCode code, const std::string& why) {
  if (const auto packet = wire::message_packet(wire::Refused{code, 0, why}))
    send(socket, packet->data(), packet->size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Sends a reply that is longer than a message as several messages, all except the last with `more` set. `empty` is the
// reply without its items; `list` is the member for the items. Each part is passed to `send`.
template <class Reply, class Item>
void send_in_parts(const Reply& empty, std::vector<Item> Reply::*list, std::vector<Item> items,
                   const std::function<void(Reply)>& send) {
  // Leaves space for the rest of the message, which may have a long text.
  constexpr size_t kRoom = wire::kLargestMessage - 8 * 1024;
  Reply part = empty;
  size_t used = 0;
  for (Item& item : items) {
    base::ByteWriter bytes;
    wire::FieldWriter fields(bytes);
    each_field(std::as_const(item), fields);
    const size_t size = bytes.size() + wire::kFieldHeadBytes;
    if (!(part.*list).empty() && (used + size > kRoom || (part.*list).size() == wire::kMaxItems)) {
      part.more = true;
      send(std::exchange(part, empty));
      used = 0;
    }
    (part.*list).push_back(std::move(item));
    used += size;
  }
  part.more = false;
  send(std::move(part));
}

}  // namespace

Server::Server(Loop& loop, Log& log, Endpoint& endpoint, Programs& programs, ServerLimits limits,
               TriggerLimits trigger_limits, std::string dynolog)
    : loop_(loop),
      log_(log),
      endpoint_(endpoint),
      programs_(programs),
      limits_(limits),
      dynolog_(std::move(dynolog)),
      output_folders_(trigger_limits.output_folders),
      triggers_(
          loop, log, programs, std::move(trigger_limits), [&endpoint] { return endpoint.next_trigger_id(); },
          [this](const Triggers::Listener& listener, const wire::TriggerUpdate& update) {
            return send_update(listener, update);
          }),
      spare_(spare_descriptor()),
      watch_(loop.watch(endpoint.socket(), EPOLLIN, [this](uint32_t) { accept_some(); })) {}

Server::~Server() {
  for (auto& [id, client] : clients_)
    if (client.program_id != 0) programs_.remove(client.program_id);
}

void Server::accept_some() {
  for (int i = 0; i < kAcceptedARound; ++i) {
    base::FileDescriptor socket(accept4(endpoint_.socket(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE) refuse_for_want_of_descriptors();
      return;
    }
    const auto credentials = peer_of(socket.get());
    const base::Check peer = credentials ? check_peer(*credentials) : base::Refusal{credentials.reason()};
    if (peer) {
      add(std::move(socket), *credentials);
    } else {
      log_.warn(base::format("a connection was refused: {}", peer.reason()));
      send_refusal(socket.get(), wire::RefusedCode::NotAllowed, peer.reason());
    }
  }
}

// Otherwise connections that wait to be accepted would keep the daemon busy forever.
void Server::refuse_for_want_of_descriptors() {
  log_.warn("there are no file descriptors left; raise the limit (ulimit -n, LimitNOFILE)");
  spare_.reset();
  {
    const base::FileDescriptor socket(accept4(endpoint_.socket(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) send_refusal(socket.get(), wire::RefusedCode::Limit, "the daemon has no file descriptors left");
  }
  spare_ = spare_descriptor();
}

base::Check Server::check_peer(const ucred& credentials) const {
  if (!endpoint_.options().is_for_all && credentials.uid != geteuid() && credentials.uid != 0) {
    return base::Refusal{
        base::format("this daemon serves {} and root, not {}", user_name(geteuid()), user_name(credentials.uid))};
  }
  // Some connections are reserved for root, who must always be able to look.
  const bool is_root = credentials.uid == 0;
  if (clients_.size() >= limits_.max_connections + (is_root ? limits_.kept_for_root : 0))
    return base::Refusal{base::format("there are already {} connections", clients_.size())};
  if (is_root) return {};
  const auto found = of_user_.find(credentials.uid);
  if (found != of_user_.end() && found->second >= limits_.max_per_user) {
    return base::Refusal{base::format("{} already has {} connections", user_name(credentials.uid), found->second)};
  }
  return {};
}

void Server::add(base::FileDescriptor socket, const ucred& credentials) {
  const uint64_t id = ++last_client_;
  auto connection = std::make_unique<Connection>(
      loop_, std::move(socket), limits_.connection, unread_, credentials.uid,
      Connection::Handlers{[this, id](const wire::Packet& packet) { on_packet(id, packet); },
                           [this, id](const std::string& why) { closed(id, why); }});
  Client& client = clients_[id];
  client.connection = std::move(connection);
  client.credentials = credentials;
  client.hello_deadline = loop_.in(limits_.hello, [this, id] {
    if (const auto found = clients_.find(id); found != clients_.end())
      found->second.connection->close("it did not send Hello");
  });
  ++of_user_[credentials.uid];
}

void Server::closed(uint64_t id, const std::string& why) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (!why.empty()) log_.warn(base::format("the connection of process {} was closed: {}", client.credentials.pid, why));
  if (client.program_id != 0) {
    triggers_.program_left(client.program_id);
    programs_.remove(client.program_id);
  }
  triggers_.listener_left(id);
  const auto user = of_user_.find(client.credentials.uid);
  if (--user->second == 0) of_user_.erase(user);
  clients_.erase(found);
}

void Server::on_packet(uint64_t id, const wire::Packet& packet) {
  Client& client = clients_.at(id);
  if (packet.kind != wire::PacketKind::Good) return;  // the peer already got an answer
  if (const auto* hello = std::get_if<wire::Hello>(&packet.message)) return greeted(client, *hello, packet.serial);
  if (!client.role) {
    refuse(client, wire::RefusedCode::NotAllowed, packet, "send Hello first");
    return client.connection->close("it did not send Hello");
  }
  if (client.program) client.program->entry().seen_at_ns = base::realtime_ns();
  if (std::holds_alternative<wire::Refused>(packet.message)) return;
  *client.role == wire::Role::Agent ? on_agent_packet(client, packet) : on_tool_packet(client, id, packet);
}

void Server::greeted(Client& client, const wire::Hello& hello, uint32_t serial) {
  const auto fail = [&](wire::RefusedCode code, const std::string& why) {
    client.connection->send(wire::Refused{code, static_cast<uint32_t>(wire::MessageType::Hello), why}, serial);
    client.connection->close(why);
  };
  if (client.role) return fail(wire::RefusedCode::Malformed, "it sent Hello twice");
  const uint32_t version = wire::common_version(hello);
  if (version == 0) {
    const bool is_older = hello.version < wire::kProtocolVersion;
    return fail(
        wire::RefusedCode::Version,
        wire::versions_differ(hello.role == wire::Role::Tool ? "the command" : "the program",
                              is_older ? hello.version : hello.oldest_version, "kymod", wire::kProtocolVersion));
  }
  if (hello.role != wire::Role::Agent && hello.role != wire::Role::Tool) {
    return fail(wire::RefusedCode::Malformed, base::format("role {} is unknown", static_cast<uint32_t>(hello.role)));
  }
  if (hello.role == wire::Role::Agent) {
    const base::FileDescriptor process = peer_process(client.connection->socket());
    const auto facts = verified_process(client.credentials, hello.pid, process.get());
    if (!facts) return fail(wire::RefusedCode::NotAllowed, facts.reason());
    client.program = std::make_unique<AgentProgram>(*client.connection, *facts, hello);
    client.program_id = programs_.add(*client.program);
  } else if (const base::Check user = check_user(client.credentials); !user) {
    return fail(wire::RefusedCode::NotAllowed, user.reason());
  }
  client.role = hello.role;
  client.hello_deadline.reset();
  client.connection->send(wire::Welcome{.version = version,
                                        .kymo_version = base::kVersion,
                                        .output_folders = output_folders_,
                                        .dynolog = dynolog_problem_.empty() ? dynolog_ : "",
                                        .dynolog_problem = dynolog_problem_,
                                        .network_namespace = namespace_of(getpid(), "net")},
                          serial);
}

void Server::on_agent_packet(Client& client, const wire::Packet& packet) {
  if (const auto* status = std::get_if<wire::Status>(&packet.message))
    return triggers_.status(client.program_id, *status);
  if (const auto* done = std::get_if<wire::Done>(&packet.message)) return triggers_.done(client.program_id, *done);
  refuse(client, wire::RefusedCode::NotAllowed, packet, "a program cannot send this; connect as a command");
}

void Server::on_tool_packet(Client& client, uint64_t id, const wire::Packet& packet) {
  const Asker asker{client.credentials.uid};
  if (const auto* asked = std::get_if<wire::List>(&packet.message)) return list(client, *asked, packet.serial);
  if (const auto* asked = std::get_if<wire::Trigger>(&packet.message))
    return trigger(client, id, *asked, packet.serial);
  if (const auto* asked = std::get_if<wire::CancelTrigger>(&packet.message)) {
    return reply(client, triggers_.end(asked->trigger_id, asker, asked->keep ? Ending::Keep : Ending::Discard),
                 packet.serial);
  }
  if (const auto* asked = std::get_if<wire::History>(&packet.message)) {
    return send_in_parts<wire::HistoryReply>(
        {}, &wire::HistoryReply::entries, triggers_.history(asked->trigger_id, asker),
        [&](const wire::HistoryReply& part) { client.connection->send(part, packet.serial); });
  }
  refuse(client, wire::RefusedCode::NotAllowed, packet, "a command cannot send this; connect as a program");
}

void Server::list(Client& client, const wire::List& list, uint32_t serial) {
  const Asker asker{client.credentials.uid};
  if (const base::Check selection = check_selection(list.selection); !selection) {
    const auto type = static_cast<uint32_t>(wire::MessageType::List);
    return client.connection->send(wire::Refused{wire::RefusedCode::Limit, type, selection.reason()}, serial);
  }
  std::vector<wire::ProcessEntry> entries;
  for (const auto& [id, program] : programs_) {
    const wire::ProcessEntry& entry = program->entry();
    if (asker.may_see(entry.uid) && selects(list.selection, entry) && is_there(*program)) entries.push_back(entry);
  }
  send_in_parts<wire::ListReply>({}, &wire::ListReply::processes, std::move(entries),
                                 [&](const wire::ListReply& part) { client.connection->send(part, serial); });
}

void Server::trigger(Client& client, uint64_t id, const wire::Trigger& trigger, uint32_t serial) {
  const Asker asker{client.credentials.uid};
  auto started = triggers_.begin(trigger, asker, Triggers::Listener{trigger.follow ? id : 0, serial});
  if (started.id != 0) {
    log_.say(base::format("trigger {}: {}, requested by process {} of {}", started.id,
                          processes_text(started.targets.size()), client.credentials.pid,
                          user_name(client.credentials.uid)));
  }
  if (started.refused) {
    const auto type = static_cast<uint32_t>(wire::MessageType::Trigger);
    return client.connection->send(wire::Refused{*started.refused, type, started.text}, serial);
  }
  reply(client, std::move(started), serial);
}

void Server::reply(Client& client, Triggers::Started started, uint32_t serial) {
  send_in_parts<wire::TriggerReply>({started.id, {}, started.text, false}, &wire::TriggerReply::targets,
                                    std::move(started.targets),
                                    [&](const wire::TriggerReply& part) { client.connection->send(part, serial); });
}

void Server::refuse(Client& client, wire::RefusedCode code, const wire::Packet& packet, const std::string& why) {
  client.connection->send(wire::Refused{code, packet.type, why}, packet.serial);
}

bool Server::send_update(const Triggers::Listener& listener, const wire::TriggerUpdate& update) {
  const auto found = clients_.find(listener.client);
  if (found == clients_.end()) return false;
  Connection& connection = *found->second.connection;
  if (connection.unread() < kMuchUnread || wire::is_final(update.state)) connection.send(update, listener.serial);
  return !connection.is_closed();
}

}  // namespace kymo::daemon
