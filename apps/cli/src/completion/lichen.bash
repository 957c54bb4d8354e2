# Completes lichen's commands in bash. In ~/.bashrc: eval "$(lichen completion bash)"
_lichen() {
  # Bash splits words at : and = as well; they are put together again as they were typed.
  local rest=${COMP_LINE:0:COMP_POINT} word words=() i isFirst=1
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $isFirst || $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      words+=("")
    fi
    ((i == COMP_CWORD)) && word=$rest
    words[${#words[@]} - 1]+=$word
    rest=${rest:${#word}}
    isFirst=
  done
  local current=${words[${#words[@]} - 1]} offer
  local split=${COMP_WORDBREAKS//[^:=]/} before=
  # What bash will put the offer behind.
  [[ $split && $current == *["$split"]* ]] && before=${current%"${current##*["$split"]}"}
  COMPREPLY=()
  while IFS= read -r offer; do
    case $offer in
      :folder | :file)
        compopt -o filenames 2>/dev/null
        local kind=-d value=$current
        [[ $offer == :file ]] && kind=-f
        [[ $value == --*=* ]] && value=${value#*=}
        while IFS= read -r offer; do COMPREPLY+=("$offer"); done < <(compgen "$kind" -- "$value")
        ;;
      *)
        offer=${offer%%$'\t'*}
        COMPREPLY+=("${offer#"$before"}")
        ;;
    esac
  done < <(lichen completion --words "${words[@]:1}" 2>/dev/null)
}
complete -F _lichen lichen
