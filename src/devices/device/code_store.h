// Compiled code on disk: one file a compilation, in $KYMO_CACHE_DIR, else $XDG_CACHE_HOME/kymo, else ~/.cache/kymo.
//
//   name   32 hex digits: a hash of source, options, device, driver and this format's version
//   bytes  magic "KYMOCODE", version, checksum of the rest; the key in full; the kernels' reflection; the
//          translator's warnings; the binary
//
// A file is written completely or not at all, readable only by its owner. A file that is damaged, or has another
// version or key, counts as missing and is written again. Nothing here throws: if the disk is full or read-only, the
// next process must compile again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "device/backend.h"

namespace kymo::device {

struct StoredCode {
  std::vector<std::byte> binary;
  std::vector<KernelInfo> kernels;
  std::string warnings;  // of the translator
};

// The bytes of the file, and the reverse. Empty: they are damaged, or have another key.
std::vector<std::byte> encode_code(const StoredCode& code, std::string_view key);
std::optional<StoredCode> decode_code(base::Bytes untrusted, std::string_view key);
// The same for the part after the checksum: a fuzzer would never find a right checksum.
std::optional<StoredCode> decode_contents(base::Bytes untrusted, std::string_view key);

class CodeStore {
 public:
  // `device` describes what the code depends on besides its source: device and driver.
  CodeStore(std::string_view device, std::string_view key);

  std::optional<StoredCode> read() const;
  void write(const StoredCode& code) const;
  const std::string& path() const { return path_; }  // empty: nothing is stored

 private:
  std::string key_, path_;
};

}  // namespace kymo::device
