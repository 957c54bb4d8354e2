#compdef lichen
# Completes lichen's commands in zsh. In ~/.zshrc, after compinit: eval "$(lichen completion zsh)"
_lichen() {
  local line word
  local -a offers
  local folders= files=
  for line in "${(@f)$(lichen completion --words "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :folder) folders=1 ;;
      :file) files=1 ;;
      *)
        word=${line%%$'\t'*}
        offers+=("${word//:/\\:}:${line#*$'\t'}")
        ;;
    esac
  done
  local found=1
  (( ${#offers} )) && _describe -t lichen 'lichen' offers && found=0
  [[ $folders || $files ]] && [[ $PREFIX == --*=* ]] && compset -P 1 '*='
  [[ $folders ]] && _files -/ && found=0
  [[ $files ]] && _files && found=0
  return found
}
# Loaded by compinit it completes at once, else it is named here.
if [[ ${funcstack[1]} == _lichen ]]; then
  _lichen "$@"
elif (( $+functions[compdef] )); then
  compdef _lichen lichen
else
  print -u2 "lichen: zsh completes nothing yet: run 'autoload -U compinit; compinit' before this line"
fi
