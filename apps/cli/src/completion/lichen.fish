# Completes lichen's commands in fish. Once: lichen completion fish > ~/.config/fish/completions/lichen.fish
function __lichen_offers
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l value (string replace -r -- '^--[^=]*=' '' $current)
  set -l option (string match -r -- '^--[^=]*=' $current)
  for line in (lichen completion --words $words[2..-1] "$current" 2>/dev/null)
    switch $line
      case :folder
        for folder in (__fish_complete_directories "$value" '')
          printf '%s%s\n' "$option" $folder
        end
      case :file
        for file in (__fish_complete_path "$value" '')
          printf '%s%s\n' "$option" $file
        end
      case '*'
        printf '%s\n' $line
    end
  end
end
complete -c lichen -f -a '(__lichen_offers)'
