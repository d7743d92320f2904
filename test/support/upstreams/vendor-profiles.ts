/** The vendors of the catalogue, with their profiles. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { vendorsSchema } from "../../../src/config/schema-models.ts";
import { root } from "../command.ts";

export const { vendors } = vendorsSchema.parse(parse(await readFile(join(root, "catalog/vendors.yaml"), "utf8")));
