// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/completion.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "app/command/words.hpp"

namespace longhaul::app {
namespace {

using Others = Completions::Others;

// Values that are files, by what the help calls them.
struct FileType {
  std::string_view type;
  Others others;
};
constexpr FileType kFileTypes[] = {
    {"FILE", Others::files}, {"SOCKET", Others::files}, {"WORKLOAD", Others::files}, {"DIR", Others::directories}};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Reads a command line up to the unfinished word.
class Reader {
 public:
  Reader(const CLI::App& app, std::span<const std::string> finished) : command_(&app) {
    for (const std::string& word : finished) take(word);
  }

  const CLI::App& command() const { return *command_; }
  /// The option whose value comes next; null if none.
  const CLI::Option* pending() const { return pending_; }
  /// Whether the pending option can do without another value.
  bool satisfied() const { return values_ >= pending_->get_items_expected_min(); }
  bool given(const CLI::Option* option) const {
    return std::find(given_.begin(), given_.end(), option) != given_.end();
  }
  /// The positional that comes next; null if none.
  const CLI::Option* positional() const {
    std::size_t before = positionals_;
    for (const CLI::Option* option : command_->get_options()) {
      if (!option->get_positional()) continue;
      const auto most = static_cast<std::size_t>(option->get_items_expected_max());
      if (before < most) return option;
      before -= most;
    }
    return nullptr;
  }

  /// An option of the innermost command, or of one before it, such as `--name` of `ctl`.
  const CLI::Option* find(const std::string& name) const {
    for (const CLI::App* app = command_; app != nullptr; app = app->get_parent())
      if (const CLI::Option* option = app->get_option_no_throw(name); option != nullptr && !option->get_positional())
        return option;
    return nullptr;
  }

 private:
  void take(const std::string& word) {
    if (pending_ != nullptr && !(is_option(word) && satisfied())) {
      ++values_;
      if (values_ >= pending_->get_items_expected_max()) pending_ = nullptr;
      return;
    }
    pending_ = nullptr;
    if (is_option(word)) {
      const std::size_t equals = word.find('=');
      const CLI::Option* option = find(word.substr(0, equals));
      if (option == nullptr) return;
      given_.push_back(option);
      if (option->get_items_expected_max() == 0 || equals != std::string::npos) return;
      pending_ = option;
      values_ = 0;
      return;
    }
    for (const CLI::App* next : command_->get_subcommands([](const CLI::App*) { return true; })) {
      if (next->get_name() != word) continue;
      command_ = next;
      positionals_ = 0;
      return;
    }
    ++positionals_;
  }

  const CLI::App* command_;
  const CLI::Option* pending_ = nullptr;
  int values_ = 0;
  std::size_t positionals_ = 0;
  std::vector<const CLI::Option*> given_;
};

class Collector {
 public:
  /// `before` is put in front of each candidate: "--sort=".
  Collector(std::string_view begun, const ValueSources& sources, std::string before = "")
      : begun_(begun), before_(std::move(before)), sources_(sources) {}

  void add(const std::string& word, const std::string& description) {
    if (!word.starts_with(begun_)) return;
    out_.candidates.push_back({before_ + word, first_line(description)});
  }

  void add_values(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    if (const auto source = sources_.find(type); source != sources_.end())
      for (const std::string& value : source->second()) add(value, "");
    for (const FileType& file : kFileTypes)
      if (file.type == type) out_.others = file.others;
    if (type.find('|') == std::string::npos) return;
    for (std::size_t at = 0; at <= type.size();) {
      const std::size_t end = std::min(type.find('|', at), type.size());
      add(type.substr(at, end - at), "");
      at = end + 1;
    }
  }

  void add_options(const CLI::App& command, const Reader& reader) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_positional() || reader.given(option)) continue;
      for (const std::string& name : option->get_lnames()) add("--" + name, option->get_description());
    }
  }

  void add_commands(const CLI::App& command) {
    for (const CLI::App* one : visible_commands(command)) add(one->get_name(), one->get_description());
  }

  Completions take() { return std::move(out_); }

 private:
  std::string_view begun_;
  std::string before_;
  const ValueSources& sources_;
  Completions out_;
};

}  // namespace

std::string Completions::to_lines() const {
  std::string out;
  for (const Candidate& one : candidates) out += fmt::format("{}\t{}\n", one.word, one.description);
  return out + (others == Others::files ? ":files\n" : others == Others::directories ? ":directories\n" : ":\n");
}

Completions complete(const CLI::App& app, std::span<const std::string> words, const ValueSources& sources) {
  if (words.empty()) return {};
  const std::string& begun = words.back();
  const Reader reader(app, words.first(words.size() - 1));
  if (const std::size_t equals = begun.find('='); is_option(begun) && equals != std::string::npos) {
    const std::string before = begun.substr(0, equals + 1);
    Collector found(std::string_view(begun).substr(equals + 1), sources, before);
    if (const CLI::Option* option = reader.find(begun.substr(0, equals))) found.add_values(*option);
    return found.take();
  }
  Collector found(begun, sources);
  if (const CLI::Option* pending = reader.pending()) {
    found.add_values(*pending);
    if (!reader.satisfied()) return found.take();
  }
  if (begun.starts_with('-')) {
    found.add_options(reader.command(), reader);
    return found.take();
  }
  found.add_commands(reader.command());
  const CLI::Option* positional = reader.positional();
  if (positional != nullptr) found.add_values(*positional);
  // A command that takes nothing else shows its options at once.
  Completions out = found.take();
  if (positional == nullptr && reader.pending() == nullptr && out.candidates.empty() && begun.empty()) {
    Collector options(begun, sources);
    options.add_options(reader.command(), reader);
    out = options.take();
  }
  return out;
}

}  // namespace longhaul::app
