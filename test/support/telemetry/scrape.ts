/** Reads metrics as Prometheus does. */

/** Scraped is what a scrape says: of each series, by its name and labels as they are written, the value; of each metric the type. */
export interface Scraped {
  readonly text: string;
  readonly types: ReadonlyMap<string, string>;
  readonly series: ReadonlyMap<string, number>;
  /** The value of the series of this name with just these labels; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** Every label of this name's value, each once. */
  labels(label: string): readonly string[];
}

export async function scrape(port: number | undefined): Promise<Scraped> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return read(await response.text());
}

export function read(text: string): Scraped {
  const types = new Map<string, string>();
  const series = new Map<string, number>();
  const values = new Map<string, Set<string>>();
  for (const line of text.split("\n")) {
    const [, typed = "", type = ""] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (typed) types.set(typed, type);
    const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", is = ""]) => [key, is] as const);
    for (const [key, is] of pairs) values.set(key, (values.get(key) ?? new Set()).add(is));
    series.set(keyOf(name, Object.fromEntries(pairs)), Number(value));
  }
  return {
    ...{ text, types, series },
    value: (name, labels = {}) => series.get(keyOf(name, labels)),
    labels: (label) => [...(values.get(label) ?? [])],
  };
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  return `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
}
