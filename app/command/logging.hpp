// SPDX-License-Identifier: BSD-3-Clause
// Where and how the log is written.
#pragma once

#include <string>
#include <string_view>

namespace longhaul::app {

/// Whether a file descriptor is the stream to the journal that JOURNAL_STREAM ("DEVICE:INODE", systemd.exec(5)) names.
/// `stream` may be null.
bool is_journal(const char* stream, int descriptor);

/// The log goes to standard error, since standard output is for results. In the journal each line begins with its
/// priority (sd-daemon(3): "<3>error: ...") and has no time, because the journal adds one. Elsewhere it begins with
/// time, name and level.
void set_up_logging();

/// From now on each line of the log is a JSON object: `ts` (RFC 3339, UTC, milliseconds), `level`, `name` (the box or
/// link) and `message`. In the journal its priority still stands before it; journald takes that off.
void log_as_json(std::string name);

/// Tells on standard error why a subcommand ends: a line for people, or of the log if that is JSON.
void tell_failure(std::string_view command, std::string_view why);

/// The prefix of the line on standard error that says why the program ends: "<3>" in the journal, else empty.
std::string_view failure_prefix();

}  // namespace longhaul::app
