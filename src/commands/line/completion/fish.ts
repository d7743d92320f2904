/** The completion script of fish. */
import { type Place, places, valueOptions } from "./places.ts";

export function fishScript(): string {
  const all = places();
  const known = all.flatMap(({ words }) => (words === "" ? [] : [quoted(words)]));
  return `# Completion of fish for model-gateway.
function __model_gateway_at
    set -l place ""
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$place $word")
        if contains -- $next ${known.join(" ")}
            set place $next
        end
    end
    test "$place" = "$argv[1]"
end
complete -c model-gateway -f
${all.flatMap(linesOf).join("\n")}`;
}

function linesOf({ words, offers, takes }: Place): string[] {
  const begin = `complete -c model-gateway -n ${quoted(`__model_gateway_at ${quoted(words)}`)}`;
  const values = valueOptions();
  const lines = offers.map(({ word, summary }) => {
    if (!word.startsWith("--")) return `${begin} -a ${word} -d ${quoted(summary)}`;
    const value = values.has(word) ? (values.get(word) === "file" ? " -r -F" : " -x") : "";
    return `${begin} -l ${word.slice(2)}${value} -d ${quoted(summary)}`;
  });
  return takes ? [...lines, `${begin} -F`] : lines;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
