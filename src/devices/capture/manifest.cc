#include "capture/manifest.h"

#include <ctime>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "capture/files.h"
#include "kymo/translate.h"

namespace kymo::capture {
namespace {

std::string hex(uint64_t value) { return base::format("{:016x}", value); }

std::string utc_text(uint64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm utc{};
  char text[64] = "";
  if (gmtime_r(&seconds, &utc) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
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
      return shader::is_library(text) ? "kymolib" : "metal";
  }
  return "txt";
}

}  // namespace

std::string shader_name(uint32_t number, device::Language language, std::string_view text) {
  return base::format("{}/{:04}.{}", kShadersName, number, suffix_of(language, text));
}

std::string manifest_text(const Manifest& manifest) {
  base::JsonWriter json;
  json.begin_object();
  json.field("format", kFormatName);
  json.field("version", kFormatVersion);
  json.field("kymo", manifest.kymo_version);
  json.field("name", manifest.name);
  json.field("started", utc_text(manifest.started_ns));
  json.field("started_ns", manifest.started_ns);
  json.field("stopped_ns", manifest.stopped_ns);
  json.field("problem", manifest.problem);
  json.begin_array("devices");
  for (const DeviceRecord& device : manifest.devices) {
    json.begin_line();
    json.field("name", device.name);
    json.field("backend", device.name.substr(0, device.name.find(':')));
    json.field("description", device.description);
    json.field("driver", device.driver);
    json.end_object();
  }
  json.end_array();
  json.field("calls", manifest.calls);
  json.field("pieces", manifest.pieces);
  json.field("content_bytes", manifest.content_bytes);
  json.field("device_ns", manifest.device_ns);
  json.begin_array("files");
  for (const FileEntry& file : manifest.files) {
    json.begin_line();
    json.field("name", file.name);
    json.field("bytes", file.bytes);
    json.field("xxh3", hex(file.checksum));
    json.end_object();
  }
  json.end_array();
  std::string before = json.text();
  before.insert(before.size() - 1, ",");
  return before + manifest_end(before);
}

std::string manifest_end(std::string_view before) {
  return base::format("{}\"{}\"\n}}\n", kManifestEndMark, hex(base::hash(base::as_bytes(before))));
}

}  // namespace kymo::capture
