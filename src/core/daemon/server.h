// Kymo's own protocol: who is connected, their permissions, and the actions for their messages.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/connection.h"
#include "daemon/endpoint.h"
#include "daemon/proc.h"
#include "daemon/program.h"
#include "daemon/triggers.h"
#include "wire/message.h"

namespace kymo::daemon {

struct ServerLimits {
  size_t max_connections = 8192;
  size_t max_per_user = 4096;
  size_t kept_for_root = 256;              // in addition to those
  std::chrono::milliseconds hello{5'000};  // until a peer says who it is
  ConnectionLimits connection;
};

class Server {
 public:
  // All of them outlive it.
  Server(Loop& loop, Log& log, Endpoint& endpoint, Programs& programs, ServerLimits limits,
         TriggerLimits trigger_limits, std::string dynolog);
  ~Server();

  Triggers& triggers() { return triggers_; }
  const Triggers& triggers() const { return triggers_; }
  size_t connections() const { return clients_.size(); }
  // `dynolog` is where programs with libkineto are served; this says why they are not yet. Empty: they are.
  void set_dynolog_problem(std::string why) { dynolog_problem_ = std::move(why); }

 private:
  struct Client {
    std::unique_ptr<Connection> connection;
    ucred credentials{};
    Loop::Timer hello_deadline;
    std::optional<wire::Role> role;         // after its Hello
    std::unique_ptr<AgentProgram> program;  // of an agent
    uint64_t program_id = 0;
  };

  void accept_some();
  void refuse_for_want_of_descriptors();
  base::Check check_peer(const ucred& credentials) const;
  void add(base::FileDescriptor socket, const ucred& credentials);
  void closed(uint64_t id, const std::string& why);

  void on_packet(uint64_t id, const wire::Packet& packet);
  void greeted(Client& client, const wire::Hello& hello, uint32_t serial);
  void on_agent_packet(Client& client, const wire::Packet& packet);
  void on_tool_packet(Client& client, uint64_t id, const wire::Packet& packet);
  void list(Client& client, const wire::List& list, uint32_t serial);
  void trigger(Client& client, uint64_t id, const wire::Trigger& trigger, uint32_t serial);
  void reply(Client& client, Triggers::Started started, uint32_t serial);
  void refuse(Client& client, wire::RefusedCode code, const wire::Packet& packet, const std::string& why);
  bool send_update(const Triggers::Listener& listener, const wire::TriggerUpdate& update);

  Loop& loop_;
  Log& log_;
  Endpoint& endpoint_;
  Programs& programs_;
  ServerLimits limits_;
  std::string dynolog_, dynolog_problem_;
  std::vector<std::string> output_folders_;
  Triggers triggers_;
  UnreadSum unread_;
  std::map<uint64_t, Client> clients_;
  std::map<uint32_t, size_t> of_user_;  // connections
  uint64_t last_client_ = 0;
  base::FileDescriptor spare_;  // closed to refuse a connection when there are no descriptors left
  Loop::Watch watch_;
};

}  // namespace kymo::daemon
