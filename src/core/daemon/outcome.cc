#include "daemon/outcome.h"

#include <optional>

#include "daemon/file_look.h"

namespace kymo::daemon {

wire::Done died_outcome(uint64_t request_id, const std::string& path, uint32_t uid) {
  wire::Done done{.id = request_id, .state = wire::RequestState::Failed};
  const std::string part = path + ".part";
  const auto status = path.empty() ? std::nullopt : look_at(part);
  if (!status || !S_ISREG(status->st_mode) || status->st_uid != uid) {
    done.error = "it died during the recording; there is no trace";
    return done;
  }
  done.path = part;
  done.bytes = static_cast<uint64_t>(status->st_size);
  done.error = base::format("it died; what it recorded before is in {}", part);
  return done;
}

}  // namespace kymo::daemon
