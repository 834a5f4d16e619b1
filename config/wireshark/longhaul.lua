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
-- longhaul.keepalive.held > 200000000, _ws.expert && longhaul. The bodies inside a CONFIRM have the names that they
-- have in INIT and RESPONSE. Nothing is encrypted, so all is shown; without the key no tag can be checked.

local longhaul = Proto("longhaul", "longhaul peer protocol")

longhaul.prefs.port = Pref.uint("UDP port", 47910, "The port of peers: in the boxes' configuration")

local LAST_HANDSHAKE_TYPE = 15
local HANDSHAKE_VERSION = 1
local HEADER, TAG, LARGEST = 16, 16, 1200
local MOST_WORKERS = 64

local types = {[1] = "INIT", [2] = "RESPONSE", [3] = "CONFIRM", [4] = "REFUSE", [16] = "KEEPALIVE", [17] = "BYE"}
local reasons = {[0] = "the process ends", [1] = "the peer was taken out of the configuration",
                 [2] = "the session's key was taken out of the key file"}

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

  response_nonce = ProtoField.bytes("longhaul.response.nonce", "Nonce"),
  response_counter = ProtoField.uint64("longhaul.response.counter", "Counter"),
  response_epoch = ProtoField.uint64("longhaul.response.epoch", "Epoch", base.HEX),
  response_version = ProtoField.uint8("longhaul.response.version", "Version of the session"),
  response_zero = ProtoField.uint8("longhaul.response.zero", "Zero"),
  response_workers = ProtoField.uint16("longhaul.response.workers", "Workers"),
  response_features = ProtoField.uint32("longhaul.response.features", "Features", base.HEX),

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
}
longhaul.fields = f

local e = {
  short = ProtoExpert.new("longhaul.too_short", "Too short", expert.group.MALFORMED, expert.severity.ERROR),
  long = ProtoExpert.new("longhaul.too_long", "Longer than 1200 bytes", expert.group.MALFORMED, expert.severity.ERROR),
  type = ProtoExpert.new("longhaul.unknown_type", "Unknown type", expert.group.UNDECODED, expert.severity.WARN),
  version = ProtoExpert.new("longhaul.unknown_version", "Not version 1 in a handshake", expert.group.PROTOCOL,
                            expert.severity.WARN),
  value = ProtoExpert.new("longhaul.impossible_value", "Impossible value", expert.group.PROTOCOL, expert.severity.WARN),
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

local function wants(p, layout)
  return p.last - p.first >= size_of(layout)
end

-- Adds the fields of a layout that the capture has. Numbers up to 4 bytes go into `values`, longer ones as hexadecimal.
local function add_fields(tree, p, layout, values)
  local offset = p.first
  for _, entry in ipairs(layout) do
    local field, size, name = entry[1], entry[2], entry[3]
    if offset + size > p.there then return false end
    local range = p.tvb:range(offset, size)
    tree:add(field, range)
    values[name] = size <= 4 and range:uint() or range:bytes():tohex(true)
    if name == "counter" then values.counter = tostring(range:uint64()) end
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
-- the capture does not have is nil; then there is no such text.
local kinds = {}

kinds[1] = {layout = INIT_LAYOUT, show = function(tree, p)
  local v = {}
  local all = add_fields(tree, p, INIT_LAYOUT, v)
  check_workers(tree, v)
  check_versions(tree, v)
  return all and string.format("versions %d-%d, epoch %s, %s", v.lowest, v.highest, v.epoch, workers_text(v.workers))
end}

kinds[2] = {layout = RESPONSE_LAYOUT, show = function(tree, p)
  local v = {}
  local all = add_fields(tree, p, RESPONSE_LAYOUT, v)
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
  if not wants(body, kind.layout) then
    add_bytes(tree, body, f.body)
    tree:add_proto_expert_info(e.short, string.format("%s has a body of %d bytes at least, not %d", name_of(header.type),
                                                      size_of(kind.layout), body.last - body.first))
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
  local text = show_body(subtree, part(tvb, HEADER, length - TAG), header)
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
