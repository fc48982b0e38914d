// The descriptions of a trace's writers, merged from any number of chunks in file order.
//
// Records may repeat and overlap; docs/format.md, "Records", says which of them count. Adding is cheap. finish() sorts
// losses and clock pairs, once for many chunks.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/bytes.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace kymo::trace {

// True if add() accepts chunks of this type.
bool is_catalog(ChunkType);

class Catalog {
 public:
  // Adds the writer of an events chunk, in case it has no description.
  void see(const WriterId&);
  // Adds the payload of one chunk, whose hash was already checked. Throws kymo::Error if it is not valid; the part
  // before the error may have been added.
  void add(const ChunkHeader&, base::Bytes payload_untrusted);
  void finish();

  // To read the losses of a writer again without those that `counts` rejects: forget them, add() or add_losses() all
  // its losses chunks, finish().
  void forget_losses(const WriterId&);
  void add_losses(const WriterId&, base::Bytes payload_untrusted, const std::function<bool(const Loss&)>& counts);
  // Limits the ending of a writer to this tick. After its window, the writer does not count as alive.
  void limit_ending(const WriterId&, uint64_t alive_until);
  // Reduces the window of the writer to its intersection with this one.
  void narrow(const WriterId&, const Window&);

  const std::map<WriterId, WriterInfo>& writers() const { return writers_; }
  const std::set<std::string>& sessions() const { return sessions_; }
  // The recordings that have started, and whose collectors have not written their ends.
  const std::set<std::string>& unended_sessions() const { return unended_sessions_; }

 private:
  struct Announced {
    std::string session;
    bool announces_ending = false, has_ended = false;
  };
  struct Loose {
    bool has_origin = false;
    bool recorded = false;  // something other than an origin
    std::set<std::string> metadata_keys;
    std::map<std::tuple<LossCause, uint32_t, std::string>, Loss> losses;
  };
  void add_origin(WriterInfo&, Loose&, Origin);
  void add_clock(WriterInfo&, ClockDomain);
  void add_loss(Loose&, Loss);

  std::map<WriterId, WriterInfo> writers_;
  std::map<WriterId, Loose> loose_;
  std::set<std::string> sessions_;
  std::map<WriterId, Announced> announced_;
  std::set<std::string> unended_sessions_;
};

}  // namespace kymo::trace
