// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/usage.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command/words.hpp"
#include "base/suggestion.hpp"

namespace longhaul::app {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : visible_commands(app)) out.push_back(command->get_name());
  return out;
}

/// "--distance" and its like, without positionals.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

std::vector<std::string_view> views(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The command of this name at any depth.
const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : visible_commands(app)) {
    if (command->get_name() == name) return command;
    if (const CLI::App* deeper = find_command(*command, name)) return deeper;
  }
  return nullptr;
}

std::string unknown_option(const std::vector<const CLI::App*>& path, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!has(option_names(*path[i]), name)) continue;
    if (i + 1 < path.size())
      return fmt::format("{} is an option of `{}`: write it before `{}`", name, full_name(*path[i]),
                         path[i + 1]->get_name());
    return fmt::format("{} is an option of `{}`: write it after `{}`", name, full_name(*path[i]), path[i]->get_name());
  }
  const CLI::App& command = *path.back();
  // Before a command is chosen, nobody can tell whose option was meant.
  if (!visible_commands(command).empty() && nearest(name, views(option_names(command))).empty())
    return fmt::format("unknown option {} (it may belong behind a command: {})", name,
                       fmt::join(command_names(command), ", "));
  return fmt::format("unknown option {}{}", name, did_you_mean(name, views(option_names(command))));
}

std::string unknown_word(const std::vector<const CLI::App*>& path, const std::string& word) {
  const CLI::App& command = *path.back();
  const std::vector<std::string> options = option_names(command);
  if (has(options, "--" + word)) return fmt::format("unexpected \"{}\"; did you mean \"--{}\"?", word, word);
  const std::vector<std::string> known = command_names(command);
  if (known.empty()) return fmt::format("unexpected argument \"{}\"", word);
  if (const CLI::App* elsewhere = find_command(*path.front(), word))
    return fmt::format("unknown command \"{}\"; did you mean `{}`?", word, full_name(*elsewhere));
  return fmt::format("unknown command \"{}\"{} (commands here: {})", word, did_you_mean(word, views(known)),
                     fmt::join(known, ", "));
}

/// "--config FILE (configuration of the box (YAML))".
std::string described(const CLI::Option& option) {
  const bool positional = option.get_positional();
  const std::string type = option.get_type_name();
  return fmt::format("{}{}: {}", positional ? type : option.get_name(), positional ? "" : " " + type,
                     option.get_description());
}

std::string missing(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0) return fmt::format("missing {}", described(*option));
  return fmt::format("a command is missing: {}", alternatives(views(command_names(command))));
}

/// The two sides of "--json requires --check".
std::pair<std::string, std::string> sides(std::string_view what, std::string_view verb) {
  const std::size_t at = what.find(verb);
  if (at == std::string_view::npos) return {std::string(what), ""};
  return {std::string(what.substr(0, at)), std::string(what.substr(at + verb.size()))};
}

std::string mismatch(const CLI::App& command, const std::string& what) {
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return what;
  if (option->count() > 1 && option->get_items_expected_max() == 1)
    return fmt::format("{} is given {} times, but has one value", name, option->count());
  return fmt::format("a value is missing: {}", described(*option));
}

std::string explanation(const std::vector<const CLI::App*>& path, const CLI::ParseError& error) {
  // CLI11 finds what it does not know last, after everything that is missing because of it.
  for (const CLI::App* command : path) {
    const std::vector<std::string> unknown = command->remaining();
    if (unknown.empty()) continue;
    // The value of an unknown option is unknown as well.
    const auto option = std::find_if(unknown.begin(), unknown.end(), is_option);
    return option != unknown.end() ? unknown_option(path, *option) : unknown_word(path, unknown.front());
  }
  const CLI::App& command = *path.back();
  const std::string what = error.what();
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
      for (const CLI::App* one : path)
        if (one != path.back() && missing(*one).starts_with("missing")) return missing(*one);
      return missing(command);
    case CLI::ExitCodes::ArgumentMismatch:
      return mismatch(command, what);
    case CLI::ExitCodes::ExcludesError: {
      const auto [first, second] = sides(what, " excludes ");
      return fmt::format("give either {} or {}, not both", first, second);
    }
    case CLI::ExitCodes::RequiresError: {
      const auto [first, second] = sides(what, " requires ");
      return fmt::format("{} has no effect without {}", first, second);
    }
    default:
      return what;
  }
}

}  // namespace

std::vector<const CLI::App*> chosen(const CLI::App& app) {
  std::vector<const CLI::App*> out = {&app};
  for (;;) {
    const auto next = out.back()->get_subcommands();
    if (next.empty()) return out;
    out.push_back(next.front());
  }
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<const CLI::App*> path = chosen(app);
  const std::string name = full_name(*path.back());
  return fmt::format("{}: {}\n`{} --help` shows {}.\n", name, explanation(path, error), name,
                     visible_commands(*path.back()).empty() ? "the options and examples" : "what there is");
}

}  // namespace longhaul::app
