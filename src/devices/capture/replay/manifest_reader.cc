#include "capture/replay/manifest_reader.h"

#include <charconv>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "capture/format.h"
#include "json/document.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

constexpr size_t kChecksumDigits = 16;

uint64_t from_hex(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.size() != kChecksumDigits || std::from_chars(text.data(), end, value, 16).ptr != end)
    throw Error(base::format("\"{}\" is not a checksum", text));
  return value;
}

bool is_shader_name(std::string_view name) {
  if (!name.starts_with(kShadersName) || name.size() > 64) return false;
  name.remove_prefix(kShadersName.size());
  if (!name.starts_with('/')) return false;
  name.remove_prefix(1);
  if (name.empty() || name.starts_with('.')) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == std::string_view::npos;
}

}  // namespace

Manifest parse_manifest(std::string_view untrusted) {
  const size_t at = untrusted.rfind(kManifestEndMark);
  const std::string_view covered = untrusted.substr(0, at == std::string_view::npos ? 0 : at);
  if (at == std::string_view::npos || untrusted.substr(at) != manifest_end(covered))
    throw Error("its checksum is wrong");

  const json::Document document(untrusted);
  const json::Value root = document.root();
  if (root["format"].text("format") != kFormatName) throw Error("it is not the manifest of a capture");
  if (const uint64_t version = root["version"].number("version"); version != kFormatVersion)
    throw Error(base::format("it has version {}; this Kymo reads version {}", version, kFormatVersion));
  Manifest manifest;
  manifest.kymo_version = root["kymo"].text("kymo");
  manifest.name = root["name"].text("name");
  manifest.started_ns = root["started_ns"].number("started_ns");
  manifest.stopped_ns = root["stopped_ns"].number("stopped_ns");
  manifest.problem = root["problem"].text("problem");
  manifest.calls = root["calls"].number("calls");
  manifest.pieces = root["pieces"].number("pieces");
  manifest.content_bytes = root["content_bytes"].number("content_bytes");
  manifest.device_ns = root["device_ns"].number("device_ns");
  for (const json::Value& file : root["files"].list("files")) {
    FileEntry entry{std::string(file["name"].text("a file's name")), file["bytes"].number("a file's size"),
                    from_hex(file["xxh3"].text("a file's checksum"))};
    const bool known = entry.name == kCallsName || entry.name == kContentsName || entry.name == kTimesName ||
                       is_shader_name(entry.name);
    if (!known) throw Error(base::format("\"{}\" is not a file of a capture", entry.name));
    manifest.files.push_back(std::move(entry));
  }
  return manifest;
}

}  // namespace kymo::capture
