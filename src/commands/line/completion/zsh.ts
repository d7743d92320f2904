/** The completion script of zsh: to be sourced, or to be a file \`_model-gateway\` in a folder of \`fpath\`. */
import { type Offer, optionsByValue, places } from "./places.ts";

export function zshScript(): string {
  const { files, others } = optionsByValue();
  const all = places();
  const cases = all.map(({ words, offers, takes }) => {
    const offered = offers.map(describe).join(" ");
    return `    "${words}") offered=(${offered})${takes ? "; _files" : ""} ;;`;
  });
  return `#compdef model-gateway
# Completion of zsh for model-gateway.
_model_gateway() {
  local place="" word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "|${all.map(({ words }) => words).join("|")}|" in
      *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;;
    esac
  done
  case "$words[CURRENT-1]" in
    ${files.join("|")}) _files; return ;;
    ${others.join("|")}) _message value; return ;;
  esac
  case "$place" in
${cases.join("\n")}
  esac
  _describe model-gateway offered
}
if [[ "\${funcstack[1]}" == "_model-gateway" ]]; then
  _model_gateway "$@"
else
  whence compdef >/dev/null || { autoload -Uz compinit && compinit; }
  compdef _model_gateway model-gateway
fi`;
}

function describe({ word, summary }: Offer): string {
  const text = `${word.replaceAll(":", "\\:")}:${summary}`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
