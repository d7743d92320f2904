/**
 * Path templates of google.api.http: `/v1/models/{id=**}:verb`.
 *
 * Source: the grammar in google/api/http.proto.
 */

interface Variable {
  readonly name: string;
  /** The first segment of the variable, and the one after its last. `**` reaches to the end of the path. */
  readonly from: number;
  readonly to: number;
}

export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly string[];
  readonly verb: string;
  readonly variables: readonly Variable[];
}

/** isLiteral reports whether the template is one fixed path. */
export function isLiteral(template: PathTemplate): boolean {
  return template.variables.length === 0 && !template.segments.some((segment) => segment === "*" || segment === "**");
}

/** Compiles a template. Throws if the text does not follow the grammar. */
export function compilePath(text: string): PathTemplate {
  const wrong = (why: string) => new Error(`path template ${text}: ${why}`);
  const match = /^\/(?<path>.+?)(?::(?<verb>[^/:{}]+))?$/.exec(text);
  if (!match?.groups) throw wrong("expected / and segments");
  const segments: string[] = [];
  const variables: Variable[] = [];
  const addSegments = (path: string) => {
    for (const segment of path.split("/")) {
      if (!/^(\*\*?|[^*{}/=]+)$/.test(segment)) throw wrong(`\`${segment}\` is no segment`);
      segments.push(segment);
    }
  };
  // Split at the slashes outside of braces. A brace that is not around a whole piece is no segment.
  for (const piece of match.groups.path?.split(/\/(?![^{]*\})/) ?? []) {
    const variable = /^\{(?<name>[a-z][a-z0-9_]*)(?:=(?<span>[^{}]+))?\}$/.exec(piece);
    if (!variable?.groups) {
      addSegments(piece);
      continue;
    }
    const name = variable.groups.name as string;
    if (variables.some((known) => known.name === name)) throw wrong(`{${name}} is there twice`);
    const from = segments.length;
    addSegments(variable.groups.span ?? "*");
    variables.push({ name, from, to: segments.length });
  }
  const rest = segments.indexOf("**");
  if (rest !== -1 && rest !== segments.length - 1) throw wrong("`**` is the last segment");
  return { text, segments, verb: match.groups.verb ?? "", variables };
}

/** matchPath returns the variables, percent-decoded, or undefined where the path does not match. */
export function matchPath(template: PathTemplate, path: string): Record<string, string> | undefined {
  const suffix = template.verb === "" ? "" : `:${template.verb}`;
  if (!path.endsWith(suffix)) return undefined;
  const parts = path.slice(1, path.length - suffix.length).split("/");
  const open = template.segments.at(-1) === "**";
  if (open ? parts.length < template.segments.length : parts.length !== template.segments.length) return undefined;
  for (const [i, segment] of template.segments.entries()) {
    if (parts[i] === "" || (segment !== "*" && segment !== "**" && segment !== parts[i])) return undefined;
  }
  const values: Record<string, string> = {};
  for (const { name, from, to } of template.variables) {
    const reachesEnd = open && to === template.segments.length;
    const value = decode(parts.slice(from, reachesEnd ? undefined : to).join("/"));
    if (value === undefined) return undefined;
    values[name] = value;
  }
  return values;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
