/** The completion script of bash. It needs no package beside bash, from the 3.2 of macOS on. */
import { optionsByValue, places } from "./places.ts";

export function bashScript(): string {
  const { files, others } = optionsByValue();
  const all = places();
  const cases = all.map(({ words, offers, takes }) => {
    const offered = offers.map(({ word }) => word).join(" ");
    return `    "${words}") _model_gateway_offer "${offered}"${takes ? "; _model_gateway_files" : ""} ;;`;
  });
  return `# Completion of bash for model-gateway.
_model_gateway() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" place="" word
  # Bash splits --option=value at the sign.
  if [[ $current == "=" ]]; then current=""; fi
  if [[ $previous == "=" ]]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "|${all.map(({ words }) => words).join("|")}|" in
      *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$previous" in
    ${files.join(" | ")}) _model_gateway_files; return ;;
    ${others.join(" | ")}) return ;;
  esac
  case "$place" in
${cases.join("\n")}
  esac
}
_model_gateway_offer() {
  local offer
  while IFS= read -r offer; do COMPREPLY+=("$offer"); done < <(compgen -W "$1" -- "$current")
}
_model_gateway_files() {
  local offer
  compopt -o filenames 2>/dev/null
  while IFS= read -r offer; do COMPREPLY+=("$offer"); done < <(compgen -f -- "$current")
}
complete -F _model_gateway model-gateway`;
}
