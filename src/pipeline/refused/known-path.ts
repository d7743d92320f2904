/**
 * Cuts the path of a field that was wrong where the caller's own names begin: keys of metadata, of schemas and of unknown fields may hold
 * anything, and what callers send is not kept.
 */
import type { DescField, DescMessage, DescService } from "@bufbuild/protobuf";

/**
 * knownPath returns as much of a path into a request, as `messages[0].role`, as is named by the API, whichever of its messages names it.
 */
export function knownPath(service: DescService, path: string): string {
  const names = namesOf(service);
  const steps = path.split(/(?=[.[])/);
  const end = steps.findIndex((step) => !/^\[\d{1,5}\]$/.test(step) && !names.has(step.replace(/^\./, "")));
  return (end < 0 ? steps : steps.slice(0, end)).join("");
}

const known = new Map<string, ReadonlySet<string>>();

/** namesOf returns the names of all fields of a service's messages, in whatever depth. */
function namesOf({ typeName, methods }: DescService): ReadonlySet<string> {
  const found = known.get(typeName);
  if (found) return found;
  const names = new Set<string>();
  const seen = new Set<string>();
  const waiting = methods.flatMap(({ input, output }) => [input, output]);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (seen.has(next.typeName) || next.typeName.startsWith("google.")) continue;
    seen.add(next.typeName);
    for (const field of next.fields) {
      names.add(field.name);
      const inner = messageOf(field);
      if (inner) waiting.push(inner);
    }
  }
  known.set(typeName, names);
  return names;
}

function messageOf(field: DescField): DescMessage | undefined {
  return field.fieldKind === "enum" || field.fieldKind === "scalar" ? undefined : field.message;
}
