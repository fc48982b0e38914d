// `kymo stats --by stall`, and its part of `kymo report`: why the warps of kernels wait.
#include <algorithm>

#include "analyze/report/gpu_stalls.h"
#include "analyze/summary.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/command.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/read/report.h"
#include "commands/read/stats.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using analyze::KernelStalls;
constexpr uint64_t kOthers = ~uint64_t{0};

// "global or local memory 71 %, issued 10 %"
std::string reasons_text(const KernelStalls::Reasons& reasons, uint64_t samples, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, reasons.size()); ++i)
    text += base::format("{}{} {}", i == 0 ? "" : ", ", base::printable(analyze::stall_text(reasons[i].first)),
                         percent_text(reasons[i].second, samples));
  return text;
}

// The lines of a kernel; of one without line tables, its instructions.
std::vector<KernelStalls::Instruction> places_of(const KernelStalls& kernel) {
  std::vector<KernelStalls::Instruction> places;
  for (const KernelStalls::Instruction& one : kernel.instructions) {
    const auto known = std::ranges::find_if(places, [&](const auto& other) {
      return !one.line.empty() ? other.line == one.line : other.line.empty() && other.offset == one.offset;
    });
    if (known == places.end()) {
      places.push_back(one);
      continue;
    }
    known->samples += one.samples;
    for (const auto& [reason, samples] : one.reasons) {
      const auto same = std::ranges::find(known->reasons, reason, [](const auto& of) { return of.first; });
      if (same == known->reasons.end())
        known->reasons.emplace_back(reason, samples);
      else
        same->second += samples;
    }
    std::ranges::stable_sort(known->reasons, std::ranges::greater(), [](const auto& of) { return of.second; });
  }
  std::ranges::stable_sort(places, std::ranges::greater(), &KernelStalls::Instruction::samples);
  return places;
}

std::string place_text(const KernelStalls::Instruction& place) {
  if (!place.line.empty()) return base::printable(place.line);
  return place.offset == kOthers ? "other instructions" : base::format("instruction {:#x}", place.offset);
}

std::string table_text(const std::vector<KernelStalls>& kernels, size_t most, size_t most_places, bool full_text,
                       size_t indent) {
  uint64_t all = 0;
  std::vector<std::string> names;
  for (const KernelStalls& kernel : kernels) {
    all += kernel.samples;
    names.push_back(kernel.kernel);
  }
  if (!full_text) names = symbols::short_names(names);
  base::TextTable table({"share", "samples"}, {{"warps wait for"}, {"kernel, line"}});
  const size_t rows = most == 0 ? kernels.size() : std::min(most, kernels.size());
  for (size_t i = 0; i < rows; ++i) {
    const KernelStalls& kernel = kernels[i];
    table.add({percent_text(kernel.samples, all), count_text(kernel.samples),
               reasons_text(kernel.reasons, kernel.samples, 3), base::printable(names[i])});
    const auto places = places_of(kernel);
    for (size_t place = 0; place < std::min(most_places, places.size()); ++place)
      table.add({percent_text(places[place].samples, all), count_text(places[place].samples),
                 reasons_text(places[place].reasons, places[place].samples, 2), "  " + place_text(places[place])});
  }
  std::string text = shown(table, indent);
  if (rows < kernels.size()) text += base::format("({} not shown)\n", count_of(kernels.size() - rows, "more kernel"));
  return text;
}

}  // namespace

std::string stalls_text(const std::vector<KernelStalls>& kernels) {
  constexpr size_t kKernels = 5, kPlaces = 3;
  return table_text(kernels, kKernels, kPlaces, false, 2);
}

void write_stalls(base::JsonWriter& json, const std::vector<KernelStalls>& kernels) {
  const auto write_reasons = [&json](const KernelStalls::Reasons& reasons) {
    json.begin_object("reasons");
    for (const auto& [reason, samples] : reasons) json.field(reason, samples);
    json.end_object();
  };
  json.objects("stalls", kernels, [&](const KernelStalls& kernel) {
    json.field("kernel", kernel.kernel);
    json.field("samples", kernel.samples);
    write_reasons(kernel.reasons);
    json.objects("instructions", kernel.instructions, [&](const KernelStalls::Instruction& one) {
      if (one.offset != kOthers) json.field("offset", one.offset);
      if (!one.line.empty()) json.field("line", one.line);
      json.field("samples", one.samples);
      write_reasons(one.reasons);
    });
  });
}

int show_stalls(const trace::Reader& reader, const FunctionOptions& options) {
  constexpr size_t kPlaces = 20;
  std::vector<KernelStalls> kernels;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    analyze::EventWalk walk(reader);
    kernels = analyze::gpu_stalls(walk);
  }
  const Ledger ledger(analyze::summarise(reader));
  if (options.json)
    print(ledger.document(options.path, [&](base::JsonWriter& json) { write_stalls(json, kernels); }));
  else
    print(kernels.empty() ? "no samples of kernels: record them with kymo record --gpu-stalls\n"
                          : table_text(kernels, options.top, kPlaces, options.full_text, 0));
  return ledger.finish(options.strict);
}

}  // namespace kymo::cli
