// What a trace's writers said about themselves, put together from any number of chunks in file order.
//
// Statements may repeat and overlap: docs/format.md, "Records", says which of them count. Adding is cheap; losses and
// clock pairs are put in order by finish(), once for many chunks.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/bytes.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace kymo::trace {

// Does add() know what to do with chunks of this type?
bool is_catalog(ChunkType);

class Catalog {
 public:
  // Makes the writer of a chunk of events known, should it say nothing about itself.
  void see(const WriterId&);
  // The payload of one chunk, its hash already checked. Throws kymo::Error where it makes no sense; what came before
  // the error may then have been taken.
  void add(const ChunkHeader&, base::Bytes payload_untrusted);
  void finish();

  const std::map<WriterId, WriterInfo>& writers() const { return writers_; }
  const std::set<std::string>& sessions() const { return sessions_; }
  // Was a recording begun whose collector never said that it was done?
  bool has_unended_session() const { return has_unended_session_; }

 private:
  struct Announced {
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
  bool has_unended_session_ = false;
};

}  // namespace kymo::trace
