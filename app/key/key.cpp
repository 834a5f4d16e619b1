// SPDX-License-Identifier: BSD-3-Clause
// `longhaul key`: the keys that two boxes share (docs/peer-protocol.md).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "app/command/guard.hpp"
#include "app/command/subcommands.hpp"
#include "peer/key_file.hpp"

namespace longhaul::app {
namespace {

std::runtime_error failed(const std::string& file, int error) {
  return std::runtime_error(fmt::format("{}: {}", file, std::generic_category().message(error)));
}

/// Never over what is there: it may be the only copy of a key that another box has.
void write_new(const std::string& file, const std::string& text) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0 && errno == EEXIST)
    throw std::runtime_error(fmt::format(
        "{} is there already, and is not overwritten: it may be the only copy of a key that another box has", file));
  if (descriptor < 0) throw failed(file, errno);
  const ssize_t written = write(descriptor, text.data(), text.size());
  int error = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  if (error == 0 && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0) return;
  unlink(file.c_str());
  throw failed(file, error);
}

struct Options {
  std::string file;
};

}  // namespace

void add_key(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("key", "make and name the keys that two boxes share");
  command->require_subcommand(1);
  CLI::App* make = command->add_subcommand("new", "make a key: both boxes need the same");
  make->add_option("--file", options->file,
                   "write it into this new file, which only its owner can read (default: print it)")
      ->type_name("FILE")
      ->check([](const std::string& file) { return file.empty() ? "needs a name" : std::string(); });
  make->callback([options, &exit_code] {
    exit_code = guarded("key", [&] {
      const std::string key = peer::new_key(peer::system_random()) + '\n';
      if (options->file.empty()) {
        // Into a file by >>, perhaps, on a disk that is full.
        if (std::fputs(key.c_str(), stdout) < 0 || std::fflush(stdout) != 0) throw failed("standard output", errno);
        return 0;
      }
      write_new(options->file, key);
      fmt::print("{}: key {}\n", options->file, peer::id_text(peer::read_keys(options->file).front().id()));
      return 0;
    });
  });
  CLI::App* ids = command->add_subcommand(
      "ids", "print the IDs of the keys in a file, as ctl peers shows them: they tell nothing of the keys");
  ids->add_option("file", options->file, "a file of keys, as peers.boxes names it")->required()->type_name("FILE");
  ids->callback([options, &exit_code] {
    exit_code = guarded("key", [&] {
      for (const peer::PreSharedKey& key : peer::read_keys(options->file)) fmt::print("{}\n", peer::id_text(key.id()));
      return 0;
    });
  });
  command->footer(
      "A file has one to four keys, one on a line; the box uses the first and accepts all. To change keys: append the\n"
      "new one on both boxes and reload both (ctl reload); put it first on both and reload; take the old one out.");
}

}  // namespace longhaul::app
