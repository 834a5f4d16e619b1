// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/validators.hpp"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/suggestion.hpp"

namespace longhaul::app {

CLI::Validator one_of(std::vector<std::string> names) {
  // Without a description, which the help would show behind the type's name.
  return {[names = std::move(names)](std::string& given) -> std::string {
            if (std::find(names.begin(), names.end(), given) != names.end()) return "";
            const std::vector<std::string_view> known(names.begin(), names.end());
            return fmt::format("expected {}, got \"{}\"{}", alternatives(known), given, did_you_mean(given, known));
          },
          ""};
}

CLI::Validator one_of(std::span<const std::string_view> names) {
  return one_of(std::vector<std::string>(names.begin(), names.end()));
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[least, most](std::string& given) -> std::string {
            std::uint64_t value = 0;
            const char* end = given.data() + given.size();
            const auto [last, error] = std::from_chars(given.data(), end, value);
            if (error == std::errc{} && last == end && value >= least && value <= most) return "";
            const std::string range =
                most == UINT64_MAX ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
            return fmt::format("expected a whole number {}, got \"{}\"", range, given);
          },
          ""};
}

CLI::Validator number(double least, double most) {
  return {[least, most](std::string& given) -> std::string {
            double value = 0;
            const char* end = given.data() + given.size();
            const auto [last, error] = std::from_chars(given.data(), end, value);
            if (error == std::errc{} && last == end && value >= least && value <= most) return "";
            return fmt::format("expected a number from {:g} to {:g}, got \"{}\"", least, most, given);
          },
          ""};
}

CLI::Validator existing_directory() {
  return {[](std::string& given) -> std::string {
            std::error_code error;
            if (std::filesystem::is_directory(given, error)) return "";
            return fmt::format("expected a directory that exists, got \"{}\"", given);
          },
          ""};
}

}  // namespace longhaul::app
