/** Fallbacks and aliases of thousands of LiteLLM's models are carried over by looking at each model a few times, however many there are. */
import { expect, test } from "vitest";
import type { ModelDraft } from "../../src/config/import/draft.ts";
import { addAliases, addFallbacks } from "../../src/config/import/litellm/routing.ts";
import { createNotes } from "../../src/config/import/notes.ts";
import { readSource } from "../../src/config/import/source.ts";

const count = 500;
const names = Array.from({ length: count }, (_, i) => `m-${i}`);

test("no model is looked at again for every other model", () => {
  let looks = 0;
  const models = names.map((name): ModelDraft => {
    const targets = [{ upstream: "u", model: name }];
    const model = { id: name, family: "f", kind: "chat", targets };
    return Object.defineProperty(model, "id", {
      get() {
        looks++;
        return name;
      },
    });
  });
  const settings = {
    model_group_alias: Object.fromEntries(names.map((name) => [`also-${name}`, name])),
    fallbacks: names.map((name, i) => ({ [`also-${name}`]: [`also-m-${(i + 1) % count}`, "not served"] })),
  };
  const root = readSource("config.yaml", () => JSON.stringify({ router_settings: settings }));
  const notes = createNotes();
  addAliases(root, models, notes);
  addFallbacks(root, models, notes);
  expect(looks).toBeLessThan(20 * count);
  expect(models[0]).toMatchObject({
    aliases: ["also-m-0"],
    targets: [
      { upstream: "u", model: "m-0" },
      { upstream: "u", model: "m-1", priority: 1 },
    ],
  });
  expect(notes.all().filter(({ kind }) => kind === "left out")).toHaveLength(count);
});
