#include "collect/unrecorded.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "collect/options.h"

namespace kymo::collect {

void write_unrecorded(trace::Writer& file, const Unrecorded& process) {
  const SessionId id = new_session_id();
  trace::WriterId writer;
  std::copy(std::begin(id.bytes), std::end(id.bytes), writer.bytes.begin());
  trace::Origin origin;
  origin.session = process.session;
  origin.pid = process.pid;
  origin.parent_pid = process.parent_pid;
  file.origin(writer, origin);
  const trace::Loss loss{trace::LossCause::Unrecorded,
                         0,
                         1,
                         0,
                         0,
                         base::format("process {} could not record: {}", process.pid, process.why)};
  file.losses(writer, {&loss, 1});
}

}  // namespace kymo::collect
