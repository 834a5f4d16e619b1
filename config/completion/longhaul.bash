# SPDX-License-Identifier: BSD-3-Clause
# bash completion for longhaul. The program itself knows what may follow: `longhaul __complete WORD...`.

_longhaul() {
  local line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} words found one others
  read -ra words <<<"$line"
  # Behind a blank, a new word begins.
  if [[ $line == *[[:blank:]] ]]; then words+=(''); fi
  mapfile -t found < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  others=${found[-1]-}
  # bash ends words at = and :, too, and replaces only the part behind.
  if [[ $word == [=:] ]]; then word=; fi
  local before=${words[-1]%"$word"}
  COMPREPLY=()
  for one in "${found[@]::${#found[@]}-1}"; do
    one=${one%%$'\t'*}
    COMPREPLY+=("${one#"$before"}")
  done
  case $others in
    :files) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word") ;;
    :directories) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
  esac
}

complete -F _longhaul longhaul
