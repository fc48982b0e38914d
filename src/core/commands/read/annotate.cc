// `kymo annotate`: the source of a function with the time of each line, or its instructions.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/functions/functions.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "commands/read/disassembly.h"
#include "commands/read/stats.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "symbols/file_symbols.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using functions::FunctionRow;
using functions::FunctionTable;
using functions::What;

struct Options {
  std::string path, function;
  bool as_instructions = false, json = false, strict = false;
};

std::string time_or_nothing(uint64_t ns) { return ns == 0 ? "" : duration_text(ns); }
std::string count_or_nothing(uint64_t count) { return count == 0 ? "" : count_text(count); }

// Tables keep the indentation of the code.
std::string with_spaces(std::string_view line) {
  constexpr size_t kTab = 8;
  std::string text;
  for (const char one : line) text.append(one == '\t' ? kTab - text.size() % kTab : 1, one == '\t' ? ' ' : one);
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return base::printable(text);
}

// The source files that are here. Paths are from the trace, so only regular files are read.
class Sources {
 public:
  explicit Sources(int64_t recorded_ns) : recorded_ns_(recorded_ns) {}

  // Empty: it is not here.
  const std::vector<std::string>& lines(const std::string& path) {
    const auto [known, is_new] = files_.try_emplace(path);
    struct stat status {};
    if (!is_new || !path.starts_with('/') || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      return known->second;
    constexpr int64_t kNanoseconds = 1'000'000'000;
    if (recorded_ns_ != 0 && status.st_mtim.tv_sec > recorded_ns_ / kNanoseconds) changed_.insert(path);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) known->second.push_back(with_spaces(line));
    return known->second;
  }
  std::string line(const std::string& path, uint32_t number) {
    const std::vector<std::string>& all = lines(path);
    return number == 0 || number > all.size() ? "" : all[number - 1];
  }
  std::string notes() const {
    std::string text;
    for (const std::string& path : changed_)
      text +=
          base::format("{} was changed after the recording, so its lines may be others now\n", base::printable(path));
    return text;
  }

 private:
  const int64_t recorded_ns_;
  std::map<std::string, std::vector<std::string>> files_;
  std::set<std::string> changed_;
};

// The lines of a function that are in one file.
struct Section {
  std::string function, module, file;
  std::vector<FunctionRow> rows;  // by line
  uint64_t self_ns = 0, waiting_ns = 0, samples = 0;
};

std::vector<Section> sections_of(const FunctionTable& table) {
  std::map<std::tuple<std::string, std::string, std::string>, Section> sections;
  for (const FunctionRow& row : table.rows) {
    Section& one = sections[{row.function, row.module, row.file}];
    std::tie(one.function, one.module, one.file) = std::tie(row.function, row.module, row.file);
    one.rows.push_back(row);
    one.self_ns += row.self_ns;
    one.waiting_ns += row.waiting_ns;
    one.samples += row.self_samples;
  }
  std::vector<Section> all;
  for (auto& [key, one] : sections) {
    std::ranges::sort(one.rows, {}, &FunctionRow::line);
    all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const Section& one) { return one.self_ns + one.waiting_ns; });
  return all;
}

// With the lines around those that have times.
std::string text_of(const Section& section, Sources& sources) {
  constexpr uint32_t kAround = 3;
  const auto last = static_cast<uint32_t>(sources.lines(section.file).size());
  std::map<uint32_t, const FunctionRow*> lines;
  for (const FunctionRow& row : section.rows)
    for (uint32_t line = row.line - std::min(row.line - 1, kAround); line <= std::min(last, row.line + kAround); ++line)
      lines.try_emplace(line, nullptr);
  for (const FunctionRow& row : section.rows) lines[row.line] = &row;
  base::TextTable table({"self", "samples", "total", "waiting", "line"}, {{"source"}});
  uint32_t before = lines.begin()->first - 1;
  for (const auto& [line, row] : lines) {
    if (line != before + 1) table.add({"", "", "", "", "…", ""});
    before = line;
    static const FunctionRow kNothing;
    const FunctionRow& times = row != nullptr ? *row : kNothing;
    table.add({time_or_nothing(times.self_ns), count_or_nothing(times.self_samples), time_or_nothing(times.total_ns),
               time_or_nothing(times.waiting_ns), base::format("{}", line), sources.line(section.file, line)});
  }
  return cli::shown(table);
}

std::string shown_name(const std::string& function) { return base::printable(symbols::short_name(function)); }

// "work, in /home/me/work.cc: 1.20 s of CPU time, 30 ms of waiting"
std::string heading_of(const std::string& function, const std::string& file, uint64_t self_ns, uint64_t waiting_ns) {
  return base::format("{}, in {}: {} of CPU time{}\n", shown_name(function), base::printable(file),
                      duration_text(self_ns),
                      waiting_ns == 0 ? "" : base::format(", {} of waiting", duration_text(waiting_ns)));
}

void write_times(base::JsonWriter& json, uint64_t self_ns, uint64_t samples) {
  json.field("self_ns", self_ns);
  json.field("self_samples", samples);
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

std::string lines_as_text(const std::vector<Section>& sections, Sources& sources) {
  std::string text;
  for (const Section& section : sections) {
    if (!text.empty()) text += "\n";
    text += heading_of(section.function, section.file, section.self_ns, section.waiting_ns) + "\n";
    text += text_of(section, sources);
    if (sources.lines(section.file).empty()) text += "(the source is not here)\n";
  }
  return text + sources.notes();
}

void write_lines(base::JsonWriter& json, const std::vector<Section>& sections, Sources& sources) {
  json.objects("functions", sections, [&](const Section& section) {
    json.field("function", section.function);
    json.field("module", section.module);
    json.field("source", section.file);
    json.field("source_found", !sources.lines(section.file).empty());
    write_times(json, section.self_ns, section.samples);
    json.field("waiting_ns", section.waiting_ns);
    json.objects("lines", section.rows, [&](const FunctionRow& row) {
      json.field("line", row.line);
      json.field("text", sources.line(section.file, row.line));
      write_times(json, row.self_ns, row.self_samples);
      json.field("total_ns", row.total_ns);
      json.field("waiting_ns", row.waiting_ns);
    });
  });
}

// The sections that have lines, of which a source is here.
std::vector<Section> annotated(const FunctionTable& table, const std::string& function, Sources& sources) {
  std::vector<Section> sections = sections_of(table);
  const std::string name = base::printable(function);
  std::erase_if(sections, [](const Section& one) { return one.file.empty() || one.rows.front().line == 0; });
  if (sections.empty())
    throw Error(
        base::format("no source lines of '{}' are known: compile it with -g, or install its debug information; "
                     "--asm shows its instructions",
                     name));
  if (std::ranges::none_of(sections, [&](const Section& one) { return !sources.lines(one.file).empty(); }))
    throw Error(base::format("the source of '{}' is not here: {}; kymo stats --by line shows the times of its lines",
                             name, base::printable(sections.front().file)));
  return sections;
}

// ---- Instructions --------------------------------------------------------------------------------------------------

struct Code {
  std::string function, module;
  uint64_t self_ns = 0, samples = 0;
  symbols::CodeOfFunction place;
  std::map<uint64_t, const functions::SampledInstruction*> sampled;  // by address
  std::vector<Instruction> instructions;
};

// The largest first.
std::vector<Code> disassembled(const std::vector<functions::SampledInstruction>& sampled, const std::string& function) {
  const std::string name = base::printable(function);
  if (sampled.empty())
    throw Error(base::format("no sample is in the code of '{}' itself, or this code is in no file", name));
  symbols::FileSymbols files;
  std::map<std::tuple<std::string, std::string, uint64_t>, Code> all;
  std::set<std::string> missing;
  for (const functions::SampledInstruction& one : sampled) {
    const auto found = files.function_at(one.code.path, one.code.build_id, one.code.offset);
    if (!found) {
      missing.insert(one.code.path);
      continue;
    }
    Code& code = all[{one.code.path, one.code.build_id, found->begin}];
    if (code.sampled.empty()) {
      code.function = files.at_return_address(one.code.path, one.code.build_id, one.code.offset).back().function;
      code.module = one.code.path;
      code.place = *found;
    }
    code.sampled[found->at] = &one;
    code.self_ns += one.ns;
    code.samples += one.samples;
  }
  if (all.empty())
    throw Error(base::format("the instructions of '{}' are not here: {} was removed or built again", name,
                             base::printable(*missing.begin())));
  std::vector<Code> codes;
  for (auto& [key, code] : all) {
    code.instructions = disassemble(code.module, code.place.begin, code.place.end);
    codes.push_back(std::move(code));
  }
  std::ranges::stable_sort(codes, std::ranges::greater(), &Code::self_ns);
  return codes;
}

std::string instructions_as_text(const std::vector<Code>& codes, Sources& sources) {
  std::string text;
  for (const Code& code : codes) {
    base::TextTable table({"self", "samples", "address"}, {{"code"}});
    std::pair<std::string, uint32_t> place;
    for (const Instruction& one : code.instructions) {
      if (std::pair now(one.file, one.line); now != place) {
        place = std::move(now);
        const std::string name = base::printable(one.file.substr(one.file.rfind('/') + 1));
        table.add({"", "", "", base::format("; {}:{}  {}", name, one.line, sources.line(one.file, one.line))});
      }
      const auto sampled = code.sampled.find(one.address);
      const bool has_time = sampled != code.sampled.end();
      table.add({has_time ? duration_text(sampled->second->ns) : "",
                 has_time ? count_text(sampled->second->samples) : "", base::format("{:x}", one.address),
                 with_spaces(one.text)});
    }
    text += (text.empty() ? "" : "\n") + heading_of(code.function, code.module, code.self_ns, 0) + "\n" + shown(table);
  }
  return text + sources.notes();
}

void write_instructions(base::JsonWriter& json, const std::vector<Code>& codes) {
  json.objects("code", codes, [&](const Code& code) {
    json.field("function", code.function);
    json.field("module", code.module);
    write_times(json, code.self_ns, code.samples);
    json.objects("instructions", code.instructions, [&](const Instruction& one) {
      json.field("address", base::format("{:#x}", one.address));
      json.field("text", one.text);
      if (one.line != 0) json.field("source", one.file), json.field("line", one.line);
      if (const auto sampled = code.sampled.find(one.address); sampled != code.sampled.end())
        write_times(json, sampled->second->ns, sampled->second->samples);
    });
  });
}

}  // namespace

int annotate(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "annotate", "kymo annotate FILE FUNCTION [options]",
      "Shows the source of a function with the time of each line: the CPU time in the line itself and in what the\n"
      "compiler inlined there (self), that with the functions it called (total), and the time that it waited.\n"
      "FUNCTION is a name with or without its namespaces and parameters; * and ? are wildcards. The lines are those\n"
      "of the recorded build; the source is read from where it was when the program was compiled.",
      "kymo annotate run.kymo work::step\nkymo annotate run.kymo step --asm");
  line.argument("FILE", options.path, "the trace");
  line.argument("FUNCTION", options.function, "the function, or a pattern");
  line.flag("--asm", options.as_instructions, "its instructions with their times (needs objdump, of binutils)");
  line.flag("--json", options.json, "as JSON");
  line.flag("--strict", options.strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(options.path);
  functions::Samples samples;
  FunctionTable table;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    samples = functions::read_samples(reader);
    functions::Samples waits = functions::read_samples(reader, What::Waits);
    table = functions::count_lines_of(samples, options.function);
    functions::add_waits(table, functions::count_lines_of(waits, options.function));
  }
  if (samples.samples == 0) throw Error(std::string(nothing_text(What::Cpu, functions::has_samples(reader))));
  if (table.rows.empty()) refuse_function(samples, options.function);
  const analyze::Summary summary = analyze::summarise(reader);
  const Ledger ledger(summary, samples.problems);
  Sources sources(summary.begin_realtime_ns);
  if (options.as_instructions) {
    const auto sampled = functions::count_instructions(samples, options.function);  // which the codes refer to
    const std::vector<Code> codes = disassembled(sampled, options.function);
    print(options.json ? ledger.document(options.path, [&](base::JsonWriter& json) { write_instructions(json, codes); })
                       : instructions_as_text(codes, sources));
  } else {
    const std::vector<Section> sections = annotated(table, options.function, sources);
    print(options.json
              ? ledger.document(options.path, [&](base::JsonWriter& json) { write_lines(json, sections, sources); })
              : lines_as_text(sections, sources));
  }
  return ledger.finish(options.strict);
}

}  // namespace kymo::cli
