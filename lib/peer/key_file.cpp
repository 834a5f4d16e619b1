// SPDX-License-Identifier: BSD-3-Clause
#include "peer/key_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace longhaul::peer {
namespace {

constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;

std::optional<Key> key_of(std::string_view line) {
  Key key;
  std::size_t size = 0;
  const char* end = nullptr;
  if (sodium_base642bin(key.data(), key.size(), line.data(), line.size(), nullptr, &size, &end, kVariant) != 0 ||
      size != key.size() || end != line.data() + line.size())
    return std::nullopt;
  return key;
}

struct Descriptor {
  explicit Descriptor(int its) : number(its) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

std::runtime_error cannot_read(const std::string& path, int error) {
  return std::runtime_error(
      fmt::format("cannot read the keys in {}: {}", path, std::generic_category().message(error)));
}

/// All that is judged is judged of the file that is read, whatever its name leads to a moment later.
std::string contents_of(const std::string& path) {
  constexpr off_t kMost = 1 << 16;
  // Without a wait where the name is that of a FIFO.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) throw cannot_read(path, errno);
  struct stat about {};
  if (fstat(file.number, &about) != 0) throw cannot_read(path, errno);
  if (!S_ISREG(about.st_mode) || about.st_size > kMost)
    throw std::runtime_error(fmt::format("{} is not a file of keys", path));
  if ((about.st_mode & S_IRWXO) != 0)
    throw std::runtime_error(fmt::format(
        "{} can be read or written by everyone (mode {:04o}), so its keys are not secret: `chmod o= {}`, and "
        "make new ones if others were on this machine",
        path, about.st_mode & 07777u, path));
  if (about.st_uid != 0 && about.st_uid != geteuid())
    throw std::runtime_error(
        fmt::format("{} belongs to another user, who can change its keys: `chown` it to root or to "
                    "the user of this process",
                    path));
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t some = read(file.number, text.data() + size, text.size() - size);
    if (some < 0) throw cannot_read(path, errno);
    if (some == 0) break;
    size += static_cast<std::size_t>(some);
  }
  text.resize(size);
  return text;
}

}  // namespace

std::vector<PreSharedKey> read_keys(const std::string& path) {
  std::istringstream file(contents_of(path));
  std::vector<PreSharedKey> keys;
  std::string text;
  for (unsigned number = 1; std::getline(file, text); ++number) {
    const std::string_view line = trimmed(text);
    if (line.empty() || line.front() == '#') continue;
    const std::optional<Key> key = key_of(line);
    // Not what the line has: it may be a key with a mistake.
    if (!key)
      throw std::runtime_error(fmt::format(
          "{}:{}: not a key: expected 44 characters, the base64 of 32 bytes, as `longhaul key new` prints them", path,
          number));
    if (std::ranges::all_of(*key, [](std::uint8_t byte) { return byte == 0; }))
      throw std::runtime_error(fmt::format("{}:{}: a key of zeros is no secret", path, number));
    keys.emplace_back(*key);
    if (std::ranges::count(keys, keys.back()) > 1)
      throw std::runtime_error(fmt::format("{}:{}: this key was there already", path, number));
    if (keys.size() > kMostKeys)
      throw std::runtime_error(
          fmt::format("{}:{}: more than {} keys: take out those that no peer has any more", path, number, kMostKeys));
  }
  if (keys.empty()) throw std::runtime_error(fmt::format("{} has no key: `longhaul key new --file` makes one", path));
  return keys;
}

std::string new_key(const Random& random) {
  Key key;
  random(key);
  std::string text(sodium_base64_encoded_len(key.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), key.data(), key.size(), kVariant);
  text.pop_back();  // its final zero
  return text;
}

}  // namespace longhaul::peer
