-- SPDX-License-Identifier: BSD-3-Clause
--
-- Shows in Wireshark and tshark what two longhaul boxes say to each other: UDP port 47910, docs/peer-protocol.md.
--
-- To install it for yourself, and then Analyze > Reload Lua Plugins, or start Wireshark again:
--   mkdir -p ~/.local/lib/wireshark/plugins
--   cp longhaul.lua ~/.local/lib/wireshark/plugins/
-- To use it once:
--   tshark -X lua_script:longhaul.lua -r capture.pcapng -Y longhaul
-- For another port: Edit > Preferences > Protocols > longhaul, or tshark -o longhaul.port:PORT.
--
-- Filters: longhaul.type == 1, longhaul.init.epoch == 0x0123456789abcdef, longhaul.cookie == 0x...,
-- longhaul.keepalive.held > 200000000, longhaul.bind.qpn == 0x11, longhaul.state.range, longhaul.answer_state.range,
-- longhaul.to == 65535, _ws.expert && longhaul. The bodies inside a CONFIRM have the names that they have in INIT and
-- RESPONSE. Nothing is encrypted, so all is shown; without the key no tag can be checked.
--
-- Of boxes with several workers, selective repeat's bodies begin with `to`. The handshake says whether they do. Where
-- the capture does not have it, a preference does: tshark -o longhaul.to:always (or never; usually handshake).

local longhaul = Proto("longhaul", "longhaul peer protocol")

longhaul.prefs.port = Pref.uint("UDP port", 47910, "The port of peers: in the boxes' configuration")

local ALWAYS, NEVER = 1, 2
longhaul.prefs.to = Pref.enum("Bodies begin with `to`", 0,
                              "Whether bodies of selective repeat have the number of the worker that they are for",
                              {{"handshake", "As the handshake says, otherwise no", 0}, {"always", "Always", ALWAYS},
                               {"never", "Never", NEVER}}, false)

local LAST_HANDSHAKE_TYPE = 15
local HANDSHAKE_VERSION = 1
local HEADER, TAG, LARGEST = 16, 16, 1200
local MOST_WORKERS = 64
local TO, ALL_WORKERS = 2, 65535
local ONE_WORKER, SEVERAL_WORKERS = 1, 2  -- features
local PSNS = 16777216
local MOST_NUMBER_BYTES = 4  -- a count of PSNs, 7 bits a byte
local MOST_VLAN = 4095
local MOST_NAMED = 4  -- flows, and ranges of a flow, in the info column

local types = {[1] = "INIT", [2] = "RESPONSE", [3] = "CONFIRM", [4] = "REFUSE", [16] = "KEEPALIVE", [17] = "BYE",
               [32] = "BIND", [33] = "UNBIND", [34] = "CLOCK", [35] = "STATE", [36] = "ANSWER_CLOCK",
               [37] = "ANSWER_STATE"}
local reasons = {[0] = "the process ends", [1] = "the peer was taken out of the configuration",
                 [2] = "the session's key was taken out of the key file"}
local FOR_ALL = {[32] = true, [33] = true, [34] = true}  -- types that may be for all workers
local keeps = {[0] = "what is held is dropped", [1] = "what is held may go to the host"}

-- What the cookie is, where it is not that of a session.
local cookies = {[1] = "the key's ID", [2] = "the INIT's token", [4] = "the INIT's token"}

local f = {
  version = ProtoField.uint8("longhaul.version", "Version"),
  type = ProtoField.uint8("longhaul.type", "Type", base.DEC, types),
  worker = ProtoField.uint16("longhaul.worker", "Worker"),
  sequence = ProtoField.uint32("longhaul.sequence", "Sequence"),
  cookie = ProtoField.uint64("longhaul.cookie", "Cookie", base.HEX),
  body = ProtoField.bytes("longhaul.body", "Body"),
  surplus = ProtoField.bytes("longhaul.surplus", "Surplus of a later version"),
  tag = ProtoField.bytes("longhaul.tag", "Tag"),

  init_token = ProtoField.uint64("longhaul.init.token", "Token", base.HEX),
  init_nonce = ProtoField.bytes("longhaul.init.nonce", "Nonce"),
  init_epoch = ProtoField.uint64("longhaul.init.epoch", "Epoch", base.HEX),
  init_lowest = ProtoField.uint8("longhaul.init.lowest", "Lowest version"),
  init_highest = ProtoField.uint8("longhaul.init.highest", "Highest version"),
  init_workers = ProtoField.uint16("longhaul.init.workers", "Workers"),
  init_features = ProtoField.uint32("longhaul.init.features", "Features", base.HEX),
  init_repeat = ProtoField.bool("longhaul.init.features.repeat", "Selective repeat by one worker", 32, nil,
                               ONE_WORKER),
  init_several = ProtoField.bool("longhaul.init.features.several", "Selective repeat by several workers", 32, nil,
                                SEVERAL_WORKERS),

  response_nonce = ProtoField.bytes("longhaul.response.nonce", "Nonce"),
  response_counter = ProtoField.uint64("longhaul.response.counter", "Counter"),
  response_epoch = ProtoField.uint64("longhaul.response.epoch", "Epoch", base.HEX),
  response_version = ProtoField.uint8("longhaul.response.version", "Version of the session"),
  response_zero = ProtoField.uint8("longhaul.response.zero", "Zero"),
  response_workers = ProtoField.uint16("longhaul.response.workers", "Workers"),
  response_features = ProtoField.uint32("longhaul.response.features", "Features", base.HEX),
  response_repeat = ProtoField.bool("longhaul.response.features.repeat", "Selective repeat by one worker", 32, nil,
                                   ONE_WORKER),
  response_several = ProtoField.bool("longhaul.response.features.several", "Selective repeat by several workers", 32,
                                    nil, SEVERAL_WORKERS),

  confirm_key_id = ProtoField.uint64("longhaul.confirm.key_id", "Key ID", base.HEX),
  confirm_init_length = ProtoField.uint16("longhaul.confirm.init_length", "Length of the INIT's body"),
  confirm_init = ProtoField.bytes("longhaul.confirm.init", "The INIT's body"),
  confirm_response = ProtoField.bytes("longhaul.confirm.response", "The RESPONSE's body"),

  refuse_lowest = ProtoField.uint8("longhaul.refuse.lowest", "Lowest version"),
  refuse_highest = ProtoField.uint8("longhaul.refuse.highest", "Highest version"),

  keepalive_clock = ProtoField.uint64("longhaul.keepalive.clock", "Clock (ns)"),
  keepalive_echo = ProtoField.uint64("longhaul.keepalive.echo", "Echo (ns)"),
  keepalive_held = ProtoField.uint32("longhaul.keepalive.held", "Held (ns)"),

  bye_reason = ProtoField.uint8("longhaul.bye.reason", "Reason", base.DEC, reasons),

  to = ProtoField.uint16("longhaul.to", "To worker"),

  bind_entry = ProtoField.bytes("longhaul.bind.entry", "Entry"),
  bind_handle = ProtoField.uint32("longhaul.bind.handle", "Handle"),
  bind_binding = ProtoField.uint32("longhaul.bind.binding", "Binding"),
  bind_outer_vlan = ProtoField.uint16("longhaul.bind.outer_vlan", "Outer VLAN"),
  bind_inner_vlan = ProtoField.uint16("longhaul.bind.inner_vlan", "Inner VLAN"),
  bind_requester = ProtoField.ipv6("longhaul.bind.requester", "Requester"),
  bind_responder = ProtoField.ipv6("longhaul.bind.responder", "Responder"),
  bind_qpn = ProtoField.uint32("longhaul.bind.qpn", "QPN", base.HEX),
  bind_psn = ProtoField.uint32("longhaul.bind.psn", "PSN of the next packet"),
  bind_path_mtu = ProtoField.uint32("longhaul.bind.path_mtu", "Path MTU (bytes)"),
  bind_requester_qpn = ProtoField.uint32("longhaul.bind.requester_qpn", "Requester's QPN", base.HEX),

  unbind_entry = ProtoField.bytes("longhaul.unbind.entry", "Entry"),
  unbind_handle = ProtoField.uint32("longhaul.unbind.handle", "Handle"),
  unbind_binding = ProtoField.uint32("longhaul.unbind.binding", "Binding"),
  unbind_keep = ProtoField.uint8("longhaul.unbind.keep", "Keep", base.DEC, keeps),

  clock_clock = ProtoField.uint64("longhaul.clock.clock", "Clock (ns)"),
  clock_entry = ProtoField.bytes("longhaul.clock.entry", "Entry"),
  clock_handle = ProtoField.uint32("longhaul.clock.handle", "Handle"),
  clock_binding = ProtoField.uint32("longhaul.clock.binding", "Binding"),
  clock_lowest = ProtoField.uint32("longhaul.clock.lowest", "Lowest PSN in custody"),
  clock_end = ProtoField.uint32("longhaul.clock.end", "End of custody"),
  clock_top = ProtoField.uint32("longhaul.clock.top", "First PSN that is not sent yet"),

  state_echo = ProtoField.uint64("longhaul.state.echo", "Echo (ns)"),
  state_repeats = ProtoField.uint32("longhaul.state.repeats", "Repeats"),
  state_entry = ProtoField.bytes("longhaul.state.entry", "Entry"),
  state_handle = ProtoField.uint32("longhaul.state.handle", "Handle"),
  state_binding = ProtoField.uint32("longhaul.state.binding", "Binding"),
  state_flags = ProtoField.uint8("longhaul.state.flags", "Flags", base.HEX),
  state_bound = ProtoField.bool("longhaul.state.flags.bound", "Bound", 8, nil, 1),
  state_unknown = ProtoField.bool("longhaul.state.flags.unknown", "No such binding", 8, nil, 2),
  state_mended = ProtoField.bool("longhaul.state.flags.mended", "Nothing is missing any more", 8, nil, 4),
  state_ranges = ProtoField.uint8("longhaul.state.ranges", "Ranges"),
  state_psn = ProtoField.uint32("longhaul.state.psn", "PSN"),
  state_range = ProtoField.string("longhaul.state.range", "Range"),
  state_there = ProtoField.uint32("longhaul.state.there", "There"),
  state_missing = ProtoField.uint32("longhaul.state.missing", "Missing"),

  answer_clock_clock = ProtoField.uint64("longhaul.answer_clock.clock", "Clock (ns)"),
  answer_clock_entry = ProtoField.bytes("longhaul.answer_clock.entry", "Entry"),
  answer_clock_handle = ProtoField.uint32("longhaul.answer_clock.handle", "Handle"),
  answer_clock_binding = ProtoField.uint32("longhaul.answer_clock.binding", "Binding"),
  answer_clock_top = ProtoField.uint32("longhaul.answer_clock.top", "First PSN that is not answered yet"),

  answer_state_echo = ProtoField.uint64("longhaul.answer_state.echo", "Echo (ns)"),
  answer_state_repeats = ProtoField.uint32("longhaul.answer_state.repeats", "Repeats"),
  answer_state_entry = ProtoField.bytes("longhaul.answer_state.entry", "Entry"),
  answer_state_handle = ProtoField.uint32("longhaul.answer_state.handle", "Handle"),
  answer_state_binding = ProtoField.uint32("longhaul.answer_state.binding", "Binding"),
  answer_state_flags = ProtoField.uint8("longhaul.answer_state.flags", "Flags", base.HEX),
  answer_state_all_named = ProtoField.bool("longhaul.answer_state.flags.all_named", "All missing is named", 8, nil, 8),
  answer_state_is_next = ProtoField.bool("longhaul.answer_state.flags.is_next", "All before PSN have come", 8, nil, 16),
  answer_state_ranges = ProtoField.uint8("longhaul.answer_state.ranges", "Ranges"),
  answer_state_psn = ProtoField.uint32("longhaul.answer_state.psn", "PSN"),
  answer_state_range = ProtoField.string("longhaul.answer_state.range", "Range"),
  answer_state_there = ProtoField.uint32("longhaul.answer_state.there", "There"),
  answer_state_missing = ProtoField.uint32("longhaul.answer_state.missing", "Missing"),

  cut_entry = ProtoField.bytes("longhaul.cut_entry", "An entry that is cut off"),
}
longhaul.fields = f

local e = {
  short = ProtoExpert.new("longhaul.too_short", "Too short", expert.group.MALFORMED, expert.severity.ERROR),
  long = ProtoExpert.new("longhaul.too_long", "Longer than 1200 bytes", expert.group.MALFORMED, expert.severity.ERROR),
  type = ProtoExpert.new("longhaul.unknown_type", "Unknown type", expert.group.UNDECODED, expert.severity.WARN),
  version = ProtoExpert.new("longhaul.unknown_version", "Not version 1 in a handshake", expert.group.PROTOCOL,
                            expert.severity.WARN),
  value = ProtoExpert.new("longhaul.impossible_value", "Impossible value", expert.group.PROTOCOL, expert.severity.WARN),
  cut_entry = ProtoExpert.new("longhaul.entry_too_short", "An entry is cut off", expert.group.MALFORMED,
                              expert.severity.WARN),
  cut = ProtoExpert.new("longhaul.cut", "The capture does not have all of it", expert.group.UNDECODED,
                        expert.severity.NOTE),
}
longhaul.experts = e

-- Layouts: fields in their order, each with its size in bytes, and the name under which the info column finds its value.
local HEADER_LAYOUT = {
  {f.version, 1, "version"}, {f.type, 1, "type"}, {f.worker, 2, "worker"}, {f.sequence, 4, "sequence"},
  {f.cookie, 8, "cookie"},
}
local INIT_LAYOUT = {
  {f.init_token, 8, "token"}, {f.init_nonce, 32, "nonce"}, {f.init_epoch, 8, "epoch"}, {f.init_lowest, 1, "lowest"},
  {f.init_highest, 1, "highest"}, {f.init_workers, 2, "workers"}, {f.init_features, 4, "features"},
}
local RESPONSE_LAYOUT = {
  {f.response_nonce, 32, "nonce"}, {f.response_counter, 8, "counter"}, {f.response_epoch, 8, "epoch"},
  {f.response_version, 1, "chosen"}, {f.response_zero, 1, "zero"}, {f.response_workers, 2, "workers"},
  {f.response_features, 4, "features"},
}
local CONFIRM_LAYOUT = {{f.confirm_key_id, 8, "key_id"}, {f.confirm_init_length, 2, "init_length"}}
local REFUSE_LAYOUT = {{f.refuse_lowest, 1, "lowest"}, {f.refuse_highest, 1, "highest"}}
local KEEPALIVE_LAYOUT = {{f.keepalive_clock, 8, "clock"}, {f.keepalive_echo, 8, "echo"}, {f.keepalive_held, 4, "held"}}
local BYE_LAYOUT = {{f.bye_reason, 1, "reason"}}
local BIND_ENTRY = {
  {f.bind_handle, 4, "handle"}, {f.bind_binding, 4, "binding"}, {f.bind_outer_vlan, 2, "outer_vlan"},
  {f.bind_inner_vlan, 2, "inner_vlan"}, {f.bind_requester, 16, "requester"}, {f.bind_responder, 16, "responder"},
  {f.bind_qpn, 4, "qpn"}, {f.bind_psn, 4, "psn"}, {f.bind_path_mtu, 4, "path_mtu"},
  {f.bind_requester_qpn, 4, "requester_qpn"},
}
local UNBIND_ENTRY = {{f.unbind_handle, 4, "handle"}, {f.unbind_binding, 4, "binding"}, {f.unbind_keep, 1, "keep"}}
local CLOCK_LAYOUT = {{f.clock_clock, 8, "ticks"}}
local CLOCK_ENTRY = {
  {f.clock_handle, 4, "handle"}, {f.clock_binding, 4, "binding"}, {f.clock_lowest, 4, "lowest"},
  {f.clock_end, 4, "end"}, {f.clock_top, 4, "top"},
}
local STATE_LAYOUT = {{f.state_echo, 8, "ticks"}, {f.state_repeats, 4, "repeats"}}
local STATE_ENTRY = {
  {f.state_handle, 4, "handle"}, {f.state_binding, 4, "binding"}, {f.state_flags, 1, "flags"},
  {f.state_ranges, 1, "ranges"}, {f.state_psn, 4, "psn"},
}
local ANSWER_CLOCK_LAYOUT = {{f.answer_clock_clock, 8, "ticks"}}
local ANSWER_CLOCK_ENTRY = {
  {f.answer_clock_handle, 4, "handle"}, {f.answer_clock_binding, 4, "binding"}, {f.answer_clock_top, 4, "top"},
}
local ANSWER_STATE_LAYOUT = {{f.answer_state_echo, 8, "ticks"}, {f.answer_state_repeats, 4, "repeats"}}
local ANSWER_STATE_ENTRY = {
  {f.answer_state_handle, 4, "handle"}, {f.answer_state_binding, 4, "binding"}, {f.answer_state_flags, 1, "flags"},
  {f.answer_state_ranges, 1, "ranges"}, {f.answer_state_psn, 4, "psn"},
}

-- Values of 8 bytes that the info column has as decimal numbers.
local DECIMAL = {counter = true, ticks = true}

-- Fields inside a field.
local BITS = {
  [f.init_features] = {f.init_repeat, f.init_several}, [f.response_features] = {f.response_repeat, f.response_several},
  [f.state_flags] = {f.state_bound, f.state_unknown, f.state_mended},
  [f.answer_state_flags] = {f.answer_state_all_named, f.answer_state_is_next},
}

local function size_of(layout)
  local size = 0
  for _, entry in ipairs(layout) do size = size + entry[2] end
  return size
end

-- A part of the datagram from `first` up to `last`, of which the capture has the bytes before `there`.
local function part(tvb, first, last)
  return {tvb = tvb, first = first, last = last, there = math.min(last, tvb:captured_len())}
end

local function rest(p, layout)
  return part(p.tvb, p.first + size_of(layout), p.last)
end

-- Adds the fields of a layout that the capture has. Numbers up to 4 bytes go into `values`, longer ones as hexadecimal.
local function add_fields(tree, p, layout, values)
  local offset = p.first
  for _, entry in ipairs(layout) do
    local field, size, name = entry[1], entry[2], entry[3]
    if offset + size > p.there then return false end
    local range = p.tvb:range(offset, size)
    local item = tree:add(field, range)
    for _, bit in ipairs(BITS[field] or {}) do item:add(bit, range) end
    values[name] = size <= 4 and range:uint() or range:bytes():tohex(true)
    if DECIMAL[name] then values[name] = tostring(range:uint64()) end
    offset = offset + size
  end
  return true
end

local function add_bytes(tree, p, field)
  if p.there > p.first then return tree:add(field, p.tvb:range(p.first, p.there - p.first)) end
end

local function workers_text(count)
  return count == 1 and "1 worker" or string.format("%d workers", count)
end

local function check_workers(tree, values)
  if values.workers and (values.workers < 1 or values.workers > MOST_WORKERS) then
    tree:add_proto_expert_info(e.value, string.format("A box has 1 to %d workers, not %d", MOST_WORKERS, values.workers))
  end
end

local function check_versions(tree, values)
  if values.highest and values.lowest > values.highest then
    tree:add_proto_expert_info(e.value, "The lowest version is above the highest")
  end
end

-- Each kind shows its body, which is as long as its layout at least, and returns the text of the info column. A value that
-- the capture does not have is nil; then there is no such text. A handshake's features go into `header`, and so does
-- INIT's token.
local kinds = {}

kinds[1] = {layout = INIT_LAYOUT, show = function(tree, p, header)
  local v = {}
  local all = add_fields(tree, p, INIT_LAYOUT, v)
  header.init, header.token = v.features, v.token
  check_workers(tree, v)
  check_versions(tree, v)
  return all and string.format("versions %d-%d, epoch %s, %s", v.lowest, v.highest, v.epoch, workers_text(v.workers))
end}

kinds[2] = {layout = RESPONSE_LAYOUT, show = function(tree, p, header)
  local v = {}
  local all = add_fields(tree, p, RESPONSE_LAYOUT, v)
  header.response = v.features
  check_workers(tree, v)
  return all and string.format("version %d, epoch %s, %s, counter %s", v.chosen, v.epoch, workers_text(v.workers), v.counter)
end}

kinds[3] = {layout = CONFIRM_LAYOUT, show = function(tree, p, header)
  local v, init, response = {}, {}, {}
  if not add_fields(tree, p, CONFIRM_LAYOUT, v) then return nil end
  local bodies = rest(p, CONFIRM_LAYOUT)
  local middle = bodies.first + v.init_length
  if v.init_length < size_of(INIT_LAYOUT) or middle + size_of(RESPONSE_LAYOUT) > p.last then
    tree:add_proto_expert_info(e.short, string.format("There is no room for an INIT's body of %d bytes and a RESPONSE's",
                                                      v.init_length))
    add_bytes(tree, bodies, f.body)
    return "malformed: the bodies do not fit"
  end
  local all = true
  for _, one in ipairs({{f.confirm_init, part(p.tvb, bodies.first, middle), INIT_LAYOUT, init},
                        {f.confirm_response, part(p.tvb, middle, p.last), RESPONSE_LAYOUT, response}}) do
    local subtree = add_bytes(tree, one[2], one[1])
    all = subtree and add_fields(subtree, one[2], one[3], one[4])
    if not all then return nil end
    add_bytes(subtree, rest(one[2], one[3]), f.surplus)
    check_workers(subtree, one[4])
    check_versions(subtree, one[4])
  end
  header.init, header.response = init.features, response.features
  return string.format("sequence %d, version %d, epochs %s to %s, counter %s", header.sequence, response.chosen, init.epoch,
                       response.epoch, response.counter)
end, has_all = true}

kinds[4] = {layout = REFUSE_LAYOUT, show = function(tree, p)
  local v = {}
  local all = add_fields(tree, p, REFUSE_LAYOUT, v)
  check_versions(tree, v)
  return all and string.format("speaks versions %d-%d", v.lowest, v.highest)
end}

kinds[16] = {layout = KEEPALIVE_LAYOUT, show = function(tree, p, header)
  local v = {}
  if not add_fields(tree, p, KEEPALIVE_LAYOUT, v) then return nil end
  local echo = v.echo == "0000000000000000" and "nothing to echo" or string.format("echo held %.3f ms", v.held / 1e6)
  return string.format("worker %d, sequence %d, %s", header.worker, header.sequence, echo)
end}

kinds[17] = {layout = BYE_LAYOUT, show = function(tree, p)
  local v = {}
  return add_fields(tree, p, BYE_LAYOUT, v) and (reasons[v.reason] or string.format("reason %d", v.reason))
end}

-- Selective repeat: lists of entries.

local function check_values(tree, values, names, most, what)
  for _, name in ipairs(names) do
    if values[name] > most then
      tree:add_proto_expert_info(e.value, string.format("%s is %d, which is no %s", name, values[name], what))
    end
  end
end

local function check_psns(tree, values, names)
  check_values(tree, values, names, PSNS - 1, "number of 24 bits")
end

-- The first `count` texts, with what is between them.
local function some_of(texts, count, between)
  if #texts <= count then return table.concat(texts, between) end
  return string.format("%s%sand %d more", table.concat(texts, between, 1, count), between, #texts - count)
end

local function vlan_text(v)
  if v.inner_vlan > 0 then return string.format(" VLAN %d.%d", v.outer_vlan, v.inner_vlan) end
  return v.outer_vlan > 0 and string.format(" VLAN %d", v.outer_vlan) or ""
end

-- Shows an entry of a layout, and what `more` makes of it: the text of the entry.
local function plain_entry(layout, field, more)
  local size = size_of(layout)
  return function(tree, p)
    if p.last - p.first < size then return nil end
    if p.there < p.first + size then return nil, nil, true end
    local v, subtree = {}, tree:add(field, p.tvb:range(p.first, size))
    add_fields(subtree, p, layout, v)
    local text = string.format("handle %d%s", v.handle, more(subtree, v))
    subtree:set_text(string.format("Entry: %s, binding %d", text, v.binding))
    return p.first + size, text
  end
end

local bind_entry = plain_entry(BIND_ENTRY, f.bind_entry, function(tree, v)
  check_psns(tree, v, {"psn", "qpn", "requester_qpn"})
  check_values(tree, v, {"outer_vlan", "inner_vlan"}, MOST_VLAN, "VLAN")
  return string.format("%s QPN 0x%x from %d, answers to QPN 0x%x", vlan_text(v), v.qpn, v.psn, v.requester_qpn)
end)

local unbind_entry = plain_entry(UNBIND_ENTRY, f.unbind_entry, function(tree, v)
  if not keeps[v.keep] then
    tree:add_proto_expert_info(e.value, string.format("keep is 0 or 1, not %d", v.keep))
  end
  return v.keep == 0 and " drop" or v.keep == 1 and " keep" or string.format(" keep %d", v.keep)
end)

local function behind(first, second) return (second - first) % PSNS end

local clock_entry = plain_entry(CLOCK_ENTRY, f.clock_entry, function(tree, v)
  check_psns(tree, v, {"lowest", "end", "top"})
  if behind(v.lowest, v["end"]) > behind(v.lowest, v.top) then
    tree:add_proto_expert_info(e.value, "Custody ends behind what was sent")
  end
  local custody = v.lowest == v["end"] and "nothing" or
                  string.format("%d..%d", v.lowest, (v["end"] - 1) % PSNS)
  return string.format(" has %s, sent up to before %d", custody, v.top)
end)

local answer_clock_entry = plain_entry(ANSWER_CLOCK_ENTRY, f.answer_clock_entry, function(tree, v)
  check_psns(tree, v, {"top"})
  return string.format(" answered up to before %d", v.top)
end)

-- A number of 7 bits a byte: the number and the offset behind it. Without a number, the third says whether it is the
-- capture that has no more.
local function read_number(p, offset)
  local number, scale = 0, 1
  for index = 0, MOST_NUMBER_BYTES - 1 do
    if offset + index >= p.last then return nil end
    if offset + index >= p.there then return nil, nil, true end
    local byte = p.tvb:range(offset + index, 1):uint()
    number, scale = number + byte % 128 * scale, scale * 128
    if byte < 128 then
      if number >= PSNS then return nil end
      return number, offset + index + 1
    end
  end
  return nil
end

-- {first offset, middle, end, there, missing} of each range, and the offset behind them.
local function read_ranges(p, offset, count)
  local found = {}
  for _ = 1, count do
    local there, middle, cut = read_number(p, offset)
    if not there then return nil, nil, cut end
    local missing, last
    missing, last, cut = read_number(p, middle)
    if not missing then return nil, nil, cut end
    found[#found + 1] = {first = offset, middle = middle, last = last, there = there, missing = missing}
    offset = last
  end
  return found, offset
end

-- "5..9", "7", or nothing.
local function range_text(first, count)
  if count == 0 then return nil end
  if count == 1 then return string.format("%d", first) end
  return string.format("%d..%d", first, (first + count - 1) % PSNS)
end

-- Shows the ranges by `fields`; their texts, and the first PSN behind them.
local function add_ranges(tree, p, psn, ranges, fields)
  local texts = {}
  for _, one in ipairs(ranges) do
    local first = (psn + one.there) % PSNS
    local text = range_text(first, one.missing)
    local all = p.tvb:range(one.first, one.last - one.first)
    local item = tree:add(fields.range, all, text and "missing " .. text or "nothing missing")
    item:set_text(text and string.format("missing %s (%d)", text, one.missing) or "nothing missing")
    item:add(fields.there, p.tvb:range(one.first, one.middle - one.first), one.there)
    item:add(fields.missing, p.tvb:range(one.middle, one.last - one.middle), one.missing)
    texts[#texts + 1] = text
    psn = (first + one.missing) % PSNS
  end
  return texts, psn
end

-- Shows an entry with ranges by a layout and `fields`. `more` makes texts of its values, of the text of the ranges (nil
-- where nothing is missing), and of the first PSN behind them.
local function ranges_entry(layout, fields, more)
  local size = size_of(layout)
  return function(tree, p)
    if p.last - p.first < size then return nil end
    if p.there < p.first + size then return nil, nil, true end
    local ranges, last, cut = read_ranges(p, p.first + size, p.tvb:range(p.first + 9, 1):uint())
    if not ranges then return nil, nil, cut end
    local v, subtree = {}, tree:add(fields.entry, p.tvb:range(p.first, last - p.first))
    add_fields(subtree, p, layout, v)
    check_psns(subtree, v, {"psn"})
    local missing, behind = add_ranges(subtree, p, v.psn % PSNS, ranges, fields)
    local said = more(v, #missing > 0 and "missing " .. some_of(missing, MOST_NAMED, ", ") or nil, behind)
    local text = string.format("handle %d %s", v.handle, #said > 0 and table.concat(said, ", ") or "says nothing")
    subtree:set_text(string.format("Entry: %s, binding %d", text, v.binding))
    return last, text
  end
end

local STATE_FIELDS = {entry = f.state_entry, range = f.state_range, there = f.state_there, missing = f.state_missing}
local state_entry = ranges_entry(STATE_ENTRY, STATE_FIELDS, function(v, missing)
  local said = {}
  if v.flags % 2 >= 1 then said[#said + 1] = "bound" end
  if v.flags % 4 >= 2 then said[#said + 1] = "no such binding" end
  if v.flags % 8 >= 4 then said[#said + 1] = "nothing missing any more" end
  said[#said + 1] = missing
  return said
end)

local ANSWER_STATE_FIELDS = {entry = f.answer_state_entry, range = f.answer_state_range, there = f.answer_state_there,
                             missing = f.answer_state_missing}
local answer_state_entry = ranges_entry(ANSWER_STATE_ENTRY, ANSWER_STATE_FIELDS, function(v, missing, behind_all)
  local said = {}
  if v.flags % 32 >= 16 then said[#said + 1] = string.format("has all before %d", v.psn) end
  said[#said + 1] = missing
  if v.flags % 16 >= 8 and behind_all ~= v.psn then
    said[#said + 1] = string.format("nothing else before %d", behind_all)
  end
  return said
end)

-- Shows entries up to the end, and one that is cut off: the texts of them; nil if the capture does not have all.
-- `show` returns the offset behind the entry and its text; the third says that the capture ends in it.
local function add_entries(tree, p, show)
  local texts = {}
  while p.first < p.last do
    local after, text, cut = show(tree, p)
    if cut then
      add_bytes(tree, p, f.body)
      return nil
    end
    if not after then
      local left = add_bytes(tree, p, f.cut_entry) or tree
      left:add_proto_expert_info(e.cut_entry, string.format("An entry is cut off: %d bytes", p.last - p.first))
      if p.there < p.last then return nil end
      texts[#texts + 1] = "an entry cut off"
      break
    end
    texts[#texts + 1] = text
    p = part(p.tvb, after, p.last)
  end
  return #texts > 0 and some_of(texts, MOST_NAMED, "; ") or "no entries"
end

-- `has_to` is nil if no handshake was seen: then it may be the reader of the capture who knows better.
local function check_worker(tree, header)
  if header.has_to or header.worker == 0 then return end
  local hint = header.has_to == nil and ", unless bodies begin with `to`: there is a preference for that" or ""
  tree:add_proto_expert_info(e.value, string.format("Worker 0 says this, not %d%s", header.worker, hint))
end

local function check_to(tree, to, header)
  if to == ALL_WORKERS then
    if not FOR_ALL[header.type] then
      tree:add_proto_expert_info(e.value, types[header.type] .. " is for one worker, not for all")
    end
  elseif to >= MOST_WORKERS then
    tree:add_proto_expert_info(e.value, string.format("A box has %d workers at most, this is for number %d",
                                                      MOST_WORKERS, to))
  end
end

-- Shows what a body begins with where boxes have several workers: the text of it.
local function add_to(tree, p, header)
  if p.first + TO > p.there then return nil end
  local range = p.tvb:range(p.first, TO)
  local to, item = range:uint(), tree:add(f.to, range)
  if to == ALL_WORKERS then item:set_text(string.format("To all workers (%d)", to)) end
  check_to(item, to, header)
  return string.format("worker %d to %s, ", header.worker, to == ALL_WORKERS and "all" or to)
end

-- A kind with a list of entries; `head` has the text before them.
local function list_of(layout, show, head)
  return {layout = layout, has_all = true, may_have_to = true, show = function(tree, p, header)
    local v, to = {}, ""
    check_worker(tree, header)
    if header.has_to then
      to = add_to(tree, p, header)
      if not to then return nil end
      p = part(p.tvb, p.first + TO, p.last)
    end
    if not add_fields(tree, p, layout, v) then return nil end
    local text = add_entries(tree, rest(p, layout), show)
    return text and string.format("%s%s%s", to, head and head(tree, v) .. ", " or "", text)
  end}
end

kinds[32] = list_of({}, bind_entry)
kinds[33] = list_of({}, unbind_entry)

local function clock_text(tree, v)
  if v.ticks == "0" then tree:add_proto_expert_info(e.value, "A clock is never 0") end
  return "clock " .. v.ticks
end

local function echo_text(_, v)
  local echo = v.ticks == "0" and "nothing to echo" or "echo " .. v.ticks
  return string.format("%s, %d repeats", echo, v.repeats)
end

kinds[34] = list_of(CLOCK_LAYOUT, clock_entry, clock_text)
kinds[35] = list_of(STATE_LAYOUT, state_entry, echo_text)
kinds[36] = list_of(ANSWER_CLOCK_LAYOUT, answer_clock_entry, clock_text)
kinds[37] = list_of(ANSWER_STATE_LAYOUT, answer_state_entry, echo_text)

-- What handshakes say of bodies: whether they begin with `to`. Datagrams are read in their order once, when they are
-- new; later in any order, and then what was known when they were new still counts.
--
-- A CONFIRM says it of its own cookie. No handshake has the session's other cookie, that of datagrams to the initiator:
-- it is taken for one of the newest handshake when it is first seen. So a session keeps what it has when a newer one
-- begins, perhaps after a restart with another number of workers.
local addresses  -- {address, number}, sorted: the names that they have as text may change when hosts are looked up
local inits      -- the features of an INIT, by the boxes and its token
local newest     -- whether bodies begin with `to`: by the boxes,
local sessions   -- by the boxes and a cookie,
local frames     -- and by the number of a frame, as far as it was known then

local function forget_all()
  addresses, inits, newest, sessions, frames = {}, {}, {}, {}, {}
end

longhaul.init = forget_all
forget_all()

local function number_of(address)
  local low, high = 1, #addresses + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if addresses[middle].address < address then low = middle + 1 else high = middle end
  end
  local found = addresses[low]
  if not found or found.address ~= address then
    found = {address = address, number = #addresses + 1}
    table.insert(addresses, low, found)
  end
  return found.number
end

-- A name for two boxes, in either direction.
local function boxes_of(pinfo)
  local source, destination = number_of(pinfo.net_src), number_of(pinfo.net_dst)
  return string.format("%d %d ", math.min(source, destination), math.max(source, destination))
end

local function both_have(one, other, feature)
  return one % (2 * feature) >= feature and other % (2 * feature) >= feature
end

-- Notes what a handshake's datagram says, as far as the capture has it.
local function note_handshake(pinfo, header)
  local boxes = boxes_of(pinfo)
  if header.token then inits[boxes .. header.token] = header.init end
  local init, response = header.init or inits[boxes .. header.cookie], header.response
  if not init or not response then return end
  newest[boxes] = both_have(init, response, SEVERAL_WORKERS) and not both_have(init, response, ONE_WORKER)
  if header.type == 3 then sessions[boxes .. header.cookie] = newest[boxes] end
end

local function note_session(pinfo, header)
  local boxes = boxes_of(pinfo)
  local session = boxes .. header.cookie
  if sessions[session] == nil then sessions[session] = newest[boxes] end
  frames[pinfo.number] = sessions[session]
end

-- Whether a datagram's body begins with `to`, if it may; nil if there is nothing that says so.
local function begins_with_to(pinfo, header)
  if longhaul.prefs.to == ALWAYS then return true end
  if longhaul.prefs.to == NEVER then return false end
  return frames[pinfo.number]
end

local function name_of(type)
  return types[type] or string.format("unknown type %d", type)
end

local function check_header(tree, header)
  local handshake = header.type <= LAST_HANDSHAKE_TYPE
  if handshake and header.version ~= HANDSHAKE_VERSION then
    tree:add_proto_expert_info(e.version, string.format("Version %d in a handshake", header.version))
  end
  if header.worker >= MOST_WORKERS then
    tree:add_proto_expert_info(e.value, string.format("A box has %d workers at most, this is number %d", MOST_WORKERS,
                                                      header.worker))
  end
  if header.sequence == 0 and (header.type == 3 or not handshake) then
    tree:add_proto_expert_info(e.value, "Sequence numbers begin with 1")
  end
end

-- Shows everything between header and tag; the text of the info column.
local function show_body(tree, body, header)
  local kind = kinds[header.type]
  if not kind then
    add_bytes(tree, body, f.body)
    tree:add_proto_expert_info(e.type, "Unknown type " .. header.type)
    return string.format("%s, worker %d, sequence %d, body of %d bytes", name_of(header.type), header.worker,
                         header.sequence, body.last - body.first)
  end
  local least = size_of(kind.layout) + (kind.may_have_to and header.has_to and TO or 0)
  if body.last - body.first < least then
    add_bytes(tree, body, f.body)
    tree:add_proto_expert_info(e.short, string.format("%s has a body of %d bytes at least, not %d", name_of(header.type),
                                                      least, body.last - body.first))
    return name_of(header.type) .. ", too short"
  end
  local text = kind.show(tree, body, header)
  if not kind.has_all then add_bytes(tree, rest(body, kind.layout), f.surplus) end
  if header.type == 17 then return "BYE: " .. (text or "cut off") end
  return name_of(header.type) .. (text and " " .. text or ", cut off")
end

function longhaul.dissector(tvb, pinfo, tree)
  local length = tvb:reported_len()
  pinfo.cols.protocol:set("longhaul")
  local subtree = tree:add(longhaul, tvb())
  local header = {}
  if length < HEADER + TAG then
    add_fields(subtree, part(tvb, 0, length), HEADER_LAYOUT, header)
    subtree:add_proto_expert_info(e.short, string.format("%d bytes, not the %d of header and tag", length, HEADER + TAG))
    pinfo.cols.info:set(string.format("%s, too short: %d bytes", header.type and name_of(header.type) or "longhaul", length))
    return length
  end
  if tvb:captured_len() < length then subtree:add_proto_expert_info(e.cut) end
  if length > LARGEST then subtree:add_proto_expert_info(e.long, string.format("%d bytes, not %d at most", length, LARGEST)) end
  if not add_fields(subtree, part(tvb, 0, HEADER), HEADER_LAYOUT, header) then
    pinfo.cols.info:set("longhaul, cut off")
    return length
  end
  check_header(subtree, header)
  local handshake = header.type <= LAST_HANDSHAKE_TYPE
  if not handshake and not pinfo.visited then note_session(pinfo, header) end
  header.has_to = begins_with_to(pinfo, header)
  local text = show_body(subtree, part(tvb, HEADER, length - TAG), header)
  if handshake and not pinfo.visited then note_handshake(pinfo, header) end
  subtree:append_text(", " .. text)
  if cookies[header.type] then subtree:append_text(" (cookie: " .. cookies[header.type] .. ")") end
  add_bytes(subtree, part(tvb, length - TAG, length), f.tag)
  pinfo.cols.info:set(text)
  return length
end

local ports = DissectorTable.get("udp.port")
local port = nil

local function listen()
  if port == longhaul.prefs.port then return end
  if port then ports:remove(port, longhaul) end
  port = longhaul.prefs.port
  ports:add(port, longhaul)
end

longhaul.prefs_changed = listen
listen()
