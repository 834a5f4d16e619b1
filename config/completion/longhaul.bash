# SPDX-License-Identifier: BSD-3-Clause
# bash completion for longhaul. The table is held against the program's own help by test/operate/case_docs.py.

declare -gA _longhaul_words=(
  ['longhaul']='--help --version run link replay plan ctl doctor metrics'
  ['run']='--help --config --stats --check --json'
  ['link']='--help --config --stats --check'
  ['doctor']='--help --config --json --root'
  ['metrics']='--help --json'
  ['replay']='--help --near --policy --confirm --wan-rate --min-matched --max-unmatched --expect --write-expect --host-out --wan-out --annotated-out --junit --json --quiet'
  ['plan']='--help throughput simulate depth buffer workload nic'
  ['plan throughput']='--help --rate --distance --rtt --message --operation --mtu --qps --depth --moderation --nic-depth --read-depth --deep-depth --deep-nic-depth --turnaround --message-time --cap --local-rtt --frame-time --workers --latency --json --csv --plot'
  ['plan simulate']='--help --rate --distance --rtt --message --operation --mtu --qps --depth --moderation --nic-depth --read-depth --deep-depth --deep-nic-depth --turnaround --message-time --cap --local-rtt --frame-time --workers --ways --messages --loss --seed --quiet --json --csv --plot'
  ['plan depth']='--help --rate --distance --rtt --operation --frame --mtu --ipv6 --vlan --message --depth --json --csv --plot'
  ['plan buffer']='--help --rate --distance --rtt --loss --burst --path-mtu --frame --mtu --connections --config --json --csv --plot'
  ['plan workload']='--help --list --rate --distance --rtt --mtu --nic-depth --read-depth --deep-depth --deep-nic-depth --turnaround --local-rtt --frame-time --workers --loss --dirty-rate --bandwidth --downtime --json --csv --plot'
  ['plan nic']='--help --rate --distance --rtt --operation --qps --depth --message --device --json'
  ['ctl']='--help --socket --name status counters pairs flows flow policy drain resume bypass capture config reload'
  ['ctl status']='--help --json'
  ['ctl counters']='--help'
  ['ctl pairs']='--help --json'
  ['ctl flows']='--help --host --state --policy --min-custody --sort --limit --watch --json'
  ['ctl flow']='--help --json'
  ['ctl policy']='--help show set unset default'
  ['ctl policy show']='--help --json'
  ['ctl policy set']='--help --json'
  ['ctl policy unset']='--help --json'
  ['ctl policy default']='--help --json'
  ['ctl drain']='--help --timeout --json'
  ['ctl resume']='--help'
  ['ctl bypass']='--help on off'
  ['ctl bypass on']='--help --now --yes --timeout --json'
  ['ctl bypass off']='--help'
  ['ctl capture']='--help --host --packets --snaplen --time --output stop'
  ['ctl capture stop']='--help'
  ['ctl config']='--help check show'
  ['ctl config check']='--help --json'
  ['ctl config show']='--help --json'
  ['ctl reload']='--help --json'
)

# The values of options and positionals that have a few.
declare -gA _longhaul_values=(
  ['--state']='unconfirmed confirmed plain rejoining failed ended'
  ['--policy']='off window full'
  ['--confirm']='answer cm'
  ['--operation']='write send read'
  ['--ways']='standard deep pair'
  ['--path-mtu']='256 512 1024 2048 4096'
  ['--sort']='custody unconfirmed idle rtt bytes'
)

_longhaul() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path='' i
  # The subcommands so far; values of options are none.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    local candidate=${path:+$path }${COMP_WORDS[i]}
    [[ ${COMP_WORDS[i-1]} == --socket || ${COMP_WORDS[i-1]} == --name ]] && continue
    [[ -n ${_longhaul_words[$candidate]-} ]] && path=$candidate
  done
  COMPREPLY=()
  case $before in
    --socket|--config|--stats|--output|--host-out|--wan-out|--plot) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
  esac
  if [[ -n ${_longhaul_values[$before]-} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${_longhaul_values[$before]}" -- "$word")
  elif [[ ( $path == replay || $path == 'plan workload' || $path == 'plan nic' || $path == 'ctl config check' ) && $word != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ ( $path == 'ctl policy set' || $path == 'ctl policy default' ) && $word != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'off window full' -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "${_longhaul_words[${path:-longhaul}]}" -- "$word")
  fi
}

complete -F _longhaul longhaul
