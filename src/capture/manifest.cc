#include "capture/manifest.h"

#include <charconv>
#include <ctime>

#include "base/hash.h"
#include "base/json_value.h"
#include "base/text.h"
#include "capture/format.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

constexpr std::string_view kFormatName = "kymo capture";
constexpr std::string_view kChecksumLine = "  \"checksum\": ";  // of all before it
constexpr size_t kChecksumDigits = 16;

std::string hex(uint64_t value) { return base::format("\"{:016x}\"", value); }

uint64_t from_hex(const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.size() != kChecksumDigits || std::from_chars(text.data(), end, value, 16).ptr != end)
    throw Error(base::format("\"{}\" is not a checksum", text));
  return value;
}

std::string utc_text(uint64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm utc{};
  char text[64] = "";
  if (gmtime_r(&seconds, &utc) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

bool is_shader_name(std::string_view name) {
  if (!name.starts_with(kShadersName) || name.size() > 64) return false;
  name.remove_prefix(kShadersName.size());
  if (!name.starts_with('/')) return false;
  name.remove_prefix(1);
  if (name.empty() || name.starts_with('.')) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == std::string_view::npos;
}

std::string_view suffix_of(device::Language language, std::string_view text) {
  switch (language) {
    case device::Language::OpenClC:
      return "cl";
    case device::Language::Glsl:
      return "comp";
    case device::Language::SpirV:
      return "spv";
    case device::Language::CudaCpp:
      return text.find("__global__") == std::string_view::npos && text.find(".version") != std::string_view::npos
                 ? "ptx"
                 : "cu";
    case device::Language::Metal:
      return "metal";
  }
  return "txt";
}

}  // namespace

std::string shader_name(uint32_t number, device::Language language, std::string_view text) {
  return base::format("{}/{:04}.{}", kShadersName, number, suffix_of(language, text));
}

std::string manifest_text(const Manifest& manifest) {
  std::string text = "{\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text += base::format("  \"{}\": {},\n", name, value);
  };
  line("format", base::json_quoted(kFormatName));
  line("version", std::to_string(kFormatVersion));
  line("kymo", base::json_quoted(manifest.kymo_version));
  line("name", base::json_quoted(manifest.name));
  line("started", base::json_quoted(utc_text(manifest.started_ns)));
  line("started_ns", std::to_string(manifest.started_ns));
  line("stopped_ns", std::to_string(manifest.stopped_ns));
  line("problem", base::json_quoted(manifest.problem));
  text += "  \"devices\": [";
  for (size_t i = 0; i < manifest.devices.size(); ++i) {
    const DeviceRecord& device = manifest.devices[i];
    text += base::format("{}\n    {{\"name\": {}, \"backend\": {}, \"description\": {}, \"driver\": {}}}",
                         i == 0 ? "" : ",", base::json_quoted(device.name),
                         base::json_quoted(device.name.substr(0, device.name.find(':'))),
                         base::json_quoted(device.description), base::json_quoted(device.driver));
  }
  text += manifest.devices.empty() ? "],\n" : "\n  ],\n";
  line("calls", std::to_string(manifest.calls));
  line("pieces", std::to_string(manifest.pieces));
  line("content_bytes", std::to_string(manifest.content_bytes));
  line("device_ns", std::to_string(manifest.device_ns));
  text += "  \"files\": [";
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const FileEntry& file = manifest.files[i];
    text += base::format("{}\n    {{\"name\": {}, \"bytes\": {}, \"xxh3\": {}}}", i == 0 ? "" : ",",
                         base::json_quoted(file.name), file.bytes, hex(file.checksum));
  }
  text += "\n  ],\n";
  return text + base::format("{}{}\n}}\n", kChecksumLine, hex(base::hash(base::as_bytes(text))));
}

Manifest parse_manifest(std::string_view untrusted) {
  const size_t at = untrusted.rfind(kChecksumLine);
  const std::string_view covered = untrusted.substr(0, at == std::string_view::npos ? 0 : at);
  const std::string end = base::format("{}{}\n}}\n", kChecksumLine, hex(base::hash(base::as_bytes(covered))));
  if (at == std::string_view::npos || untrusted.substr(at) != end) throw Error("its checksum is wrong");

  const base::JsonValue json = base::JsonValue::parse(untrusted);
  if (json["format"].text("format") != kFormatName) throw Error("it is not the manifest of a capture");
  if (const uint64_t version = json["version"].number("version"); version != kFormatVersion)
    throw Error(base::format("it has version {}; this Kymo reads version {}", version, kFormatVersion));
  Manifest manifest;
  manifest.kymo_version = json["kymo"].text("kymo");
  manifest.name = json["name"].text("name");
  manifest.started_ns = json["started_ns"].number("started_ns");
  manifest.stopped_ns = json["stopped_ns"].number("stopped_ns");
  manifest.problem = json["problem"].text("problem");
  manifest.calls = json["calls"].number("calls");
  manifest.pieces = json["pieces"].number("pieces");
  manifest.content_bytes = json["content_bytes"].number("content_bytes");
  manifest.device_ns = json["device_ns"].number("device_ns");
  for (const base::JsonValue& file : json["files"].list("files")) {
    FileEntry entry{file["name"].text("a file's name"), file["bytes"].number("a file's size"),
                    from_hex(file["xxh3"].text("a file's checksum"))};
    const bool known = entry.name == kCallsName || entry.name == kContentsName || entry.name == kTimesName ||
                       is_shader_name(entry.name);
    if (!known) throw Error(base::format("\"{}\" is not a file of a capture", entry.name));
    manifest.files.push_back(std::move(entry));
  }
  return manifest;
}

}  // namespace kymo::capture
