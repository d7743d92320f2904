/**
 * The style sheets of the component library that the dashboard loads: those of the components that it uses, with all that
 * these use themselves, and no others, for the first page should be small.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const library = join(root, "node_modules/@mantine/core");
const pages = join(root, "dashboard/src");

/** The module that exports each name. */
const exported = new Map(
  [
    ...readFileSync(join(library, "esm/index.mjs"), "utf8").matchAll(/import\s+\{([^}]*)\}\s+from\s+"(\.[^"]+)"/g),
  ].flatMap(([, names = "", from = ""]) =>
    names.split(",").map((name) => [name.trim(), join(library, "esm", from)] as const),
  ),
);

function used(): Set<string> {
  const texts = readdirSync(pages, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(join(pages, path), "utf8"));
  const clauses = texts.flatMap((text) => [...text.matchAll(/import\s+\{([^}]*)\}\s+from\s+"@mantine\/core"/g)]);
  const names = clauses.flatMap(([, list = ""]) => list.split(",").map((name) => name.trim().replace(/ as .*/, "")));
  return new Set(names.filter((name) => name !== "" && !name.startsWith("type ")));
}

/** Goes from module to module, and returns the names of those that have a style sheet. */
function sheets(): Set<string> {
  // Notifications stand on the library, too.
  const queue = [...[...used()].flatMap((name) => exported.get(name) ?? []), exported.get("Notification") as string];
  const seen = new Set<string>(queue);
  const found = new Set<string>();
  for (const file of queue) {
    const name = /\/(\w+)\.module\.mjs$/.exec(file)?.[1];
    if (name && existsSync(join(library, `styles/${name}.css`))) found.add(name);
    for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export)\b[^;]*?"(\.[^"]+)"/gm)) {
      const next = join(dirname(file), from);
      if (!seen.has(next) && existsSync(next)) {
        seen.add(next);
        queue.push(next);
      }
    }
  }
  return found;
}

test("are those of the components that are used, and of what these use", () => {
  const loaded = [...readFileSync(join(pages, "styles.ts"), "utf8").matchAll(/core\/styles\/([A-Z]\w*)\.css/g)];
  const needed = [...sheets()].sort();
  expect(needed).toContain("UnstyledButton");
  expect(loaded.map(([, name]) => name).sort()).toEqual(needed);
});
