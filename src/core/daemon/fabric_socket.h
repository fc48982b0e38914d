// The daemon's end of Kineto's fabric: datagrams, each with the credentials of its sender.
//
// Invalid datagrams cannot stop it: datagrams that are too long, truncated, without a reply address or without
// credentials are counted, sometimes logged, and dropped. An answer goes to the socket that sent the request. If that
// socket has a path, its owner is checked first, because a link there could redirect the answer to another user.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <map>
#include <string>

#include "base/file.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "kymo/error.h"
#include "wire/fabric.h"

namespace kymo::daemon {

// A name or a TCP address is in use by another process.
class Taken : public Error {
 public:
  using Error::Error;
};

// Who sent a datagram.
struct FabricSender {
  sockaddr_un address{};
  socklen_t address_length = 0;
  ucred credentials{};
};

class FabricSocket {
 public:
  using Handler = std::function<void(const FabricSender&, const wire::FabricRequest&)>;
  // `folder` empty: the abstract namespace. Throws Taken if the name is in use, and kymo::Error.
  FabricSocket(Loop& loop, Log& log, const std::string& folder, Handler handler);
  ~FabricSocket();
  FabricSocket(const FabricSocket&) = delete;
  FabricSocket& operator=(const FabricSocket&) = delete;

  // False: the answer was not delivered.
  bool answer(const FabricSender& sender, const wire::FabricReply& reply);

 private:
  void bind_there(const std::string& folder);
  void receive_some();
  void receive(const FabricSender& sender, base::Bytes untrusted);
  bool may_ask_again(uint32_t uid);

  Log& log_;
  Handler handler_;
  std::string path_;  // removed at the end
  base::FileDescriptor socket_;
  std::map<uint32_t, Allowance> allowances_;  // by user
  Loop::Watch watch_;
};

}  // namespace kymo::daemon
