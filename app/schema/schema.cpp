// SPDX-License-Identifier: BSD-3-Clause
// `longhaul schema`: the keys of a configuration, for editors and other programs, and for the manual.
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>

#include "app/command/guard.hpp"
#include "app/command/subcommands.hpp"
#include "app/command/validators.hpp"
#include "config/schema.hpp"

namespace longhaul::app {
namespace {

struct File {
  std::string_view name;
  std::string_view title;
  std::span<const config::SchemaKey> (*keys)();
};

constexpr File kFiles[] = {
    {"box", "The configuration of a box (longhaul run)", config::box_schema_keys},
    {"link", "The configuration of an emulated long haul (longhaul link)", config::link_schema_keys},
};

struct Options {
  const File* file = kFiles;
  bool markdown = false;
};

std::string page() {
  std::string out =
      "# The keys of configurations\n\nPrinted by `longhaul schema --markdown`. Sizes, durations, rates and "
      "distances have units: 64MiB, 5ms, 100Gbps, 1000km.\n";
  for (const File& file : kFiles) out += fmt::format("\n## {}\n\n{}", file.title, config::keys_table(file.keys()));
  return out;
}

}  // namespace

void add_schema(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("schema", "print the JSON Schema of a configuration, for editors and other programs");
  std::vector<std::pair<std::string, const File*>> files;
  for (const File& file : kFiles) files.emplace_back(file.name, &file);
  add_choice(*command, "file", options->file, std::move(files), "which configuration (default box)");
  command->add_flag("--markdown", options->markdown, "print the keys of all configurations as a page instead");
  command->footer(
      "An editor with yaml-language-server checks and completes a file that begins with:\n"
      "  # yaml-language-server: $schema=/usr/share/longhaul/box.schema.json\n"
      "The schema refuses no file that `longhaul run --check` takes. What depends on several values at once only\n"
      "--check knows.");
  command->callback([options, &exit_code] {
    exit_code = guarded("schema", [&] {
      fmt::print("{}", options->markdown
                           ? page()
                           : config::json_schema(options->file->title, options->file->keys()).dump(2) + "\n");
      return 0;
    });
  });
}

}  // namespace longhaul::app
