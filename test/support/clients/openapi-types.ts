/**
 * Writes the types of a client of an OpenAPI document, by openapi-typescript.
 *
 *   node test/support/clients/openapi-types.ts gen/openapi.json types.ts
 *
 * It builds its types with TypeScript 5, whose functions TypeScript 7 does not have: it gets the one that comes with the generator of
 * the code in `gen`.
 */
import { writeFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { resolve: resolveHere } = createRequire(import.meta.url);
const { resolve: resolveIn } = createRequire(resolveHere("@bufbuild/protoplugin"));
const typescript = pathToFileURL(resolveIn("typescript")).href;

registerHooks({
  resolve: (specifier, context, next) => next(specifier === "typescript" ? typescript : specifier, context),
});

const [document = "", types = ""] = process.argv.slice(2);
const { default: typesOf, astToString } = await import("openapi-typescript");
writeFileSync(join(types), astToString(await typesOf(pathToFileURL(resolve(document)))));
