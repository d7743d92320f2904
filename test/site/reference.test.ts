/** What is made from the schema of gateway.yaml is up to date, and right. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { referenceFiles } from "../../site/reference/main.ts";
import { readSettings, type Setting, settingsJsonSchema } from "../../site/reference/settings.ts";
import { root } from "../support/pages.ts";

function textOf(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

test.each([...(await referenceFiles())])("%s is what `npm run generate` writes", (path, text) => {
  expect(textOf(path)).toBe(text);
});

describe("the reference of gateway.yaml", () => {
  const settings = readSettings().flatMap((group) => group.settings);

  test("has a section for every key of the file, and a row for every key below", () => {
    const page = textOf("docs/configuration.md");
    // The keys of an object that has an example are told by that.
    const isTold = ({ path, key }: Setting) =>
      [`\`${path}\``, `| \`${key}\` |`, `${key}: `].some((text) => page.includes(text));
    const missing = (setting: Setting): string[] => [
      ...(isTold(setting) ? [] : [setting.path]),
      ...setting.children.flatMap(missing),
    ];
    const sections = settings
      .filter(({ key }) => !/^(?:upstreams|models)$/.test(key))
      .map(({ key }) => `### \`${key}\`\n`);
    expect(sections.filter((heading) => !page.includes(heading))).toEqual([]);
    expect(settings.flatMap(({ children }) => children.flatMap(missing))).toEqual([]);
  });

  test("tells no default twice, and none that differs from the words beside it", () => {
    const all = (setting: Setting): Setting[] => [setting, ...setting.children.flatMap(all)];
    const told = settings.flatMap(all).filter(({ description }) => /\bDefault: \d/.test(description));
    expect(told.map(({ path }) => path)).toEqual([]);
  });
});

describe("the JSON schema of gateway.yaml", () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(settingsJsonSchema());

  test("takes the example file", () => {
    validate(parse(textOf("gateway.example.yaml")));
    expect(validate.errors).toBeNull();
  });

  test.each([
    ["a key that does not exist", { prot: 8080 }],
    ["a value out of bounds", { port: 70_000 }],
    ["a price that is a number", { models: [{ id: "m", family: "f", kind: "chat", price: { input: 1.1 } }] }],
    ["an upstream without an address", { upstreams: [{ name: "a", kind: "openai" }] }],
  ])("refuses %s", (_, file) => {
    expect(validate(file)).toBe(false);
  });
});
